// Sharing what is shown: loaded when somebody asks for it.

import { followPrinting } from "./print";

export { Choices } from "./Choices";
export { commandLine } from "./command";
export { savePage, savePng, saveSvg } from "./files";
export { printView } from "./print";

followPrinting();
