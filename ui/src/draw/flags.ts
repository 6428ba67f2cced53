// Notes on an axis of time: a line with a flag at its upper end.

import { themeColour } from "./colour";

const FLAG = 7;

export function drawFlags(c: CanvasRenderingContext2D, at: readonly number[], width: number, height: number): void {
  if (at.length === 0) return;
  c.save();
  c.fillStyle = c.strokeStyle = themeColour("--mark");
  c.lineWidth = 1;
  c.setLineDash([3, 3]);
  for (const x of at) {
    if (x < -FLAG || x > width + 1) continue;
    c.beginPath();
    c.moveTo(x + 0.5, 0);
    c.lineTo(x + 0.5, height);
    c.stroke();
    c.beginPath();
    c.moveTo(x, 0);
    c.lineTo(x + FLAG + 2, FLAG / 2);
    c.lineTo(x, FLAG);
    c.closePath();
    c.fill();
  }
  c.restore();
}
