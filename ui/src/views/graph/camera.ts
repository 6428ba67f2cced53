// Which piece of the picture is seen: moved and zoomed smoothly, unless motion is reduced.

import { signal, type ReadonlySignal } from "@preact/signals";
import { reducedMotion } from "../../draw/colour";
import type { Size } from "../../parts/useSize";

export interface Eye {
  /** The graph's position at the top left of the canvas. */
  readonly x: number;
  readonly y: number;
  /** CSS pixels a unit of the picture. */
  readonly scale: number;
}

export interface Box2 {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const LEAST = 0.01;
const MOST = 4;
const EASE_SECONDS = 0.12;
const MARGIN = 24;
/** Of the picture, that stays in view however far it is moved. */
const STAYS = 60;

export class Camera {
  private readonly current = signal<Eye>({ x: 0, y: 0, scale: 1 });
  private goal: Eye = { x: 0, y: 0, scale: 1 };
  private frame = 0;
  private before = 0;
  private size: Size = { width: 1, height: 1 };
  private whole: Box2 = { x: 0, y: 0, w: 1, h: 1 };

  get eye(): ReadonlySignal<Eye> {
    return this.current;
  }

  get target(): Eye {
    return this.goal;
  }

  setSize(size: Size): void {
    this.size = size;
  }

  setWhole(width: number, height: number): void {
    this.whole = { x: 0, y: 0, w: width, h: height };
  }

  private bounded(eye: Eye): Eye {
    const scale = Math.min(MOST, Math.max(LEAST, eye.scale));
    const inside = (at: number, from: number, length: number, screen: number) => {
      const stays = STAYS / scale;
      return Math.min(from + length - stays, Math.max(from - screen / scale + stays, at));
    };
    return {
      x: inside(eye.x, this.whole.x, this.whole.w, this.size.width),
      y: inside(eye.y, this.whole.y, this.whole.h, this.size.height),
      scale,
    };
  }

  go(eye: Eye, atOnce = false): void {
    this.goal = this.bounded(eye);
    if (atOnce || reducedMotion()) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      this.current.value = this.goal;
    } else if (!this.frame) {
      this.before = performance.now();
      this.frame = requestAnimationFrame((now) => this.step(now));
    }
  }

  private step(now: number): void {
    const f = 1 - Math.exp(-Math.max(0, now - this.before) / 1000 / EASE_SECONDS);
    this.before = now;
    const { x, y, scale } = this.current.value;
    const { goal } = this;
    // Interpolates the scale by ratio, and the position of the centre: zooming is straight.
    const s = scale * (goal.scale / scale) ** f;
    const middle = (at: number, end: number, screen: number) =>
      at + screen / 2 / scale + (end + screen / 2 / goal.scale - at - screen / 2 / scale) * f - screen / 2 / s;
    const next = { x: middle(x, goal.x, this.size.width), y: middle(y, goal.y, this.size.height), scale: s };
    const near =
      Math.abs(next.scale / goal.scale - 1) < 0.002 &&
      Math.abs(next.x - goal.x) * goal.scale < 0.5 &&
      Math.abs(next.y - goal.y) * goal.scale < 0.5;
    this.current.value = near ? goal : next;
    this.frame = near ? 0 : requestAnimationFrame((t) => this.step(t));
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** factor > 1 zooms out; the position at (left, top) of the canvas is fixed. */
  zoom(factor: number, left = this.size.width / 2, top = this.size.height / 2, atOnce = false): void {
    const { x, y, scale } = this.goal;
    const s = Math.min(MOST, Math.max(LEAST, scale * factor));
    this.go({ x: x + left / scale - left / s, y: y + top / scale - top / s, scale: s }, atOnce);
  }

  /** By CSS pixels; > 0: right, or down. */
  pan(dx: number, dy: number, atOnce = false): void {
    const { x, y, scale } = this.goal;
    this.go({ x: x + dx / scale, y: y + dy / scale, scale }, atOnce);
  }

  /** Centres that box as large as possible, at most at scale 1.5. */
  fit(box: Box2, atOnce = false, most = 1.5): void {
    const { width, height } = this.size;
    const scale = Math.min(most, (width - 2 * MARGIN) / Math.max(1, box.w), (height - 2 * MARGIN) / Math.max(1, box.h));
    const s = Math.max(LEAST, scale);
    this.go({ x: box.x + box.w / 2 - width / 2 / s, y: box.y + box.h / 2 - height / 2 / s, scale: s }, atOnce);
  }

  all(atOnce = false): void {
    this.fit(this.whole, atOnce, 1);
  }

  /** That box in the middle at the present scale, or at `least` when that is too small to read. */
  centre(box: Box2, least = 0): void {
    const { width, height } = this.size;
    const scale = Math.max(this.goal.scale, least);
    this.go({ x: box.x + box.w / 2 - width / 2 / scale, y: box.y + box.h / 2 - height / 2 / scale, scale });
  }

  /** Moves no further than is needed to see it. */
  reveal(box: Box2): void {
    const { x, y, scale } = this.goal;
    const [w, h] = [this.size.width / scale, this.size.height / scale];
    const margin = MARGIN / scale;
    const moved = (at: number, screen: number, from: number, length: number) =>
      from < at + margin || length + 2 * margin > screen
        ? from - margin
        : from + length > at + screen - margin
          ? from + length - screen + margin
          : at;
    this.go({ x: moved(x, w, box.x, box.w), y: moved(y, h, box.y, box.h), scale });
  }
}
