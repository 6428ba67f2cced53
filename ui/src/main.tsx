import { effect } from "@preact/signals";
import { render } from "preact";
import { isDark } from "./draw/colour";
import { startKeys } from "./input/keys";
import { startPinch } from "./input/pinch";
import { App } from "./shell/App";
import { startBad } from "./state/bad";
import { startLive } from "./state/live";
import { startMoments } from "./state/moment";
import { startNotes } from "./state/notes";
import { startPlayback } from "./state/playback";
import { startTitle } from "./state/title";
import { startTrace } from "./state/trace";
import { shownView } from "./state/view";
import { fetchView } from "./views/loading";
import { startOverview } from "./state/timelineOverview";
import { startWindow } from "./state/timeWindow";
import "./style.css";

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
});
// During the request for the trace, not after it.
void fetchView(shownView.peek());
startKeys();
startPinch();
startTrace();
startWindow();
startOverview();
startPlayback();
startMoments();
startLive();
startBad();
startTitle();
startNotes();
render(<App />, document.getElementById("app")!);
