import { Empty } from "../../parts/messages";
import type { ViewModule } from "../module";

function Component() {
  return <Empty title="Diff" />;
}

export const view: ViewModule = { id: "diff", title: "Diff", about: "Two runs on the same axes", Component };
