import type { ViewModule } from "../module";
import { Timeline } from "./Timeline";

export const view: ViewModule = {
  id: "timeline",
  title: "Timeline",
  about: "What each lane did when",
  Component: Timeline,
};
