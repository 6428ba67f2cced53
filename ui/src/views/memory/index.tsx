import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Memory" />;
}

export const view: ViewModule = { id: "memory", title: "Memory", about: "Where the model's bytes are, and how they are used", Component };
