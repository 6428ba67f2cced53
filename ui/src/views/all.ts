// The views, in the order of their tabs and keys: 0 is the first. Each is a bundle of its own.

import type { ViewEntry } from "./module";

export const VIEWS: readonly ViewEntry[] = [
  { id: "overview", title: "Overview", about: "How fast it was, where the time went, and why", load: () => import("./overview") },
  {
    id: "memory",
    title: "Memory",
    about: "Where the model's bytes are, and how they are used",
    load: () => import("./memory"),
  },
  { id: "timeline", title: "Timeline", about: "What each lane did, over time", load: () => import("./timeline") },
  { id: "graph", title: "Graph", about: "What computes what, for one token", load: () => import("./graph") },
  { id: "log", title: "Log", about: "Every op, in time order", load: () => import("./log") },
  { id: "experts", title: "Experts", about: "Which experts the routers chose", load: () => import("./experts") },
  { id: "buffers", title: "Buffers", about: "The engine's memory over time", load: () => import("./buffers") },
  { id: "stats", title: "Stats", about: "Time and bytes by op, layer, part, thread", load: () => import("./stats") },
  { id: "values", title: "Values", about: "Outputs of ops, over layers and tokens", load: () => import("./values") },
  {
    id: "diff",
    title: "Diff",
    about: "Two runs on the same axes",
    ofSeveralTraces: true,
    load: () => import("./diff"),
  },
];
