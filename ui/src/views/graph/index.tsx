import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Graph" />;
}

export const view: ViewModule = { id: "graph", title: "Graph", about: "What computes what, for one token", Component };
