import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Log" />;
}

export const view: ViewModule = { id: "log", title: "Log", about: "Every op in the order of time", Component };
