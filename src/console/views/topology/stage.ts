/** The canvas that the map is drawn on: at most once a frame, sharp on every screen, in the colours of the theme. */
import { effect } from '@preact/signals';
import { theme } from '../../app/theme.ts';
import { type Painting, paint } from './painter.ts';
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

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d')!;
    const { signal } = this.#ends;
    const recolour = (): void => this.#recolour();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour, { signal });
    const stop = effect(() => {
      void theme.value;
      // The page takes the theme up after the choice is made.
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
    }
    this.#palette ??= readPalette(this.#canvas);
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(this.#context, { ...picture, palette: this.#palette, sprites: this.#spritesOf(picture, ratio) });
  }

  #spritesOf({ layout: { measures } }: Picture, ratio: number): Sprites {
    const key = `${measures.tile} ${ratio}`;
    if (this.#sprites?.key !== key) this.#sprites = { key, sprites: makeSprites(measures.tile, ratio, this.#palette!) };
    return this.#sprites.sprites;
  }
}
