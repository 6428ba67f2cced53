// The views, in the order of their tabs: 1 is the first.

import { view as buffers } from "./buffers";
import { view as diff } from "./diff";
import { view as experts } from "./experts";
import { view as graph } from "./graph";
import { view as log } from "./log";
import { view as memory } from "./memory";
import { view as stats } from "./stats";
import { view as timeline } from "./timeline";
import type { ViewModule } from "./module";

export const VIEWS: readonly ViewModule[] = [memory, timeline, graph, log, experts, buffers, stats, diff];
