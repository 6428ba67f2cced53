import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Timeline" />;
}

export const view: ViewModule = { id: "timeline", title: "Timeline", about: "What each lane did when", Component };
