/** The canvas of the map: drawn at most once a frame, sharp on every screen, in the theme's colours. */
import { effect } from '@preact/signals';
import { theme } from '../../app/theme.ts';
import { type Band, type Painting, paint } from './painter.ts';
import { type Palette, readPalette } from './palette.ts';
import { makeSprites, type Sprites } from './sprites.ts';

export type Picture = Omit<Painting, 'palette' | 'sprites'>;

export class Stage {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #ends = new AbortController();
  #picture: Picture | undefined;
  #palette: Palette | undefined;
  #sprites: { readonly key: string; readonly sprites: Sprites } | undefined;
  #frame = 0;
  /** The painting that is on the canvas. */
  #painted: Painting | undefined;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d')!;
    const { signal } = this.#ends;
    const recolour = (): void => this.#recolour();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour, { signal });
    const stop = effect(() => {
      void theme.value;
      // The page applies the theme after the user's choice.
      queueMicrotask(recolour);
    });
    signal.addEventListener('abort', stop);
  }

  show(picture: Picture): void {
    this.#picture = picture;
    this.#schedule();
  }

  dispose(): void {
    this.#ends.abort();
    cancelAnimationFrame(this.#frame);
  }

  #recolour(): void {
    this.#palette = undefined;
    this.#painted = undefined;
    this.#sprites = undefined;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame !== 0 || this.#ends.signal.aborted) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    const picture = this.#picture;
    if (picture === undefined || picture.width <= 0 || picture.height <= 0) return;
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(picture.width * ratio), Math.round(picture.height * ratio)];
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
      this.#painted = undefined;
    }
    this.#palette ??= readPalette(this.#canvas);
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const painting = { ...picture, palette: this.#palette, sprites: this.#spritesOf(picture, ratio) };
    paint(this.#context, painting, this.#shifted(painting, ratio));
    this.#painted = painting;
  }

  /** Moves the pixels when the map was only scrolled. Returns the band that must still be painted. */
  #shifted(painting: Painting, ratio: number): Band {
    const { scrollTop, height, ...rest } = painting;
    const whole = { top: 0, height };
    const before = this.#painted;
    if (before === undefined || before.height !== height) return whole;
    if (Object.entries(rest).some(([name, value]) => before[name as keyof typeof rest] !== value)) return whole;
    const by = scrollTop - before.scrollTop;
    if (Math.abs(by) >= height || !Number.isInteger(by * ratio)) return whole;
    const context = this.#context;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalCompositeOperation = 'copy';
    context.drawImage(this.#canvas, 0, -by * ratio);
    context.restore();
    return by >= 0 ? { top: height - by, height: by } : { top: 0, height: -by };
  }

  #spritesOf({ layout: { measures } }: Picture, ratio: number): Sprites {
    const key = `${measures.tile} ${ratio}`;
    if (this.#sprites?.key !== key) this.#sprites = { key, sprites: makeSprites(measures.tile, ratio, this.#palette!) };
    return this.#sprites.sprites;
  }
}
