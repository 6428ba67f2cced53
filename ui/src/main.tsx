import { effect } from "@preact/signals";
import { render } from "preact";
import { isDark } from "./draw/colour";
import { startKeys } from "./input/keys";
import { App } from "./shell/App";
import { startTrace } from "./state/trace";
import { startOverview } from "./views/timeline/overview";
import { startWindow } from "./views/timeline/window";
import "./style.css";

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
});
startKeys();
startTrace();
startWindow();
startOverview();
render(<App />, document.getElementById("app")!);
