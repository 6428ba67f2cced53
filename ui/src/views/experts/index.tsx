import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Experts" />;
}

export const view: ViewModule = { id: "experts", title: "Experts", about: "Which experts were chosen, by layer and token", Component };
