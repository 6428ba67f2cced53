import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Stats" />;
}

export const view: ViewModule = { id: "stats", title: "Stats", about: "Time and bytes by op, layer, part, thread", Component };
