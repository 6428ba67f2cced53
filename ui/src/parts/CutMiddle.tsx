// A name that is cut in the middle where there is no room for it: the end often tells names apart.
// The element keeps the whole name, for those who search, copy or listen; the picture is cut.

let pen: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();
const WIDTHS_MAX = 5000;

function widthOf(text: string): number {
  const known = widths.get(text);
  if (known !== undefined) return known;
  if (!pen) {
    pen = document.createElement("canvas").getContext("2d")!;
    pen.font = getComputedStyle(document.body).font;
  }
  if (widths.size > WIDTHS_MAX) widths.clear();
  const width = pen.measureText(text).width;
  widths.set(text, width);
  return width;
}

/** "blk.8…exps[9]": at most `room` CSS pixels wide, in the font of the page. */
export function cutMiddle(text: string, room: number): string {
  const all = widthOf(text);
  if (all <= room) return text;
  for (let keep = Math.floor((text.length * room) / all); keep > 2; keep--) {
    const tail = Math.ceil(keep / 2);
    const shown = `${text.slice(0, keep - tail)}…${text.slice(text.length - tail)}`;
    if (widthOf(shown) <= room) return shown;
  }
  return "…";
}

export function CutMiddle(props: { text: string; room: number }) {
  const shown = cutMiddle(props.text, props.room);
  if (shown === props.text) return <>{props.text}</>;
  return (
    <span class="cut-middle" data-shown={shown}>
      {props.text}
    </span>
  );
}
