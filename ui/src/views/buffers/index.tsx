import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Buffers" />;
}

export const view: ViewModule = { id: "buffers", title: "Buffers", about: "What memory was allocated when", Component };
