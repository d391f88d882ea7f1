/**
 * Images described by a pattern of their names: `*` stands for any characters, `/` and `:` among them. No image name contains
 * one.
 */
import type { SimImage } from './sim-image.ts';

/** Descriptions by pattern. Of several that fit a name, the longest pattern counts. */
export class ImagePatterns {
  /** The longest first. */
  #all: readonly { readonly image: SimImage; readonly regExp: RegExp }[] = [];

  /** Adds or replaces the description of a pattern. */
  add(image: SimImage): void {
    const others = this.#all.filter((one) => one.image.name !== image.name);
    this.#all = [...others, { image, regExp: regExpOf(image.name) }].toSorted(
      (a, b) => b.image.name.length - a.image.name.length,
    );
  }

  /** The description for a name, under this name. */
  find(name: string): SimImage | undefined {
    const found = this.#all.find(({ regExp }) => regExp.test(name))?.image;
    return found && { ...found, name };
  }
}

function regExpOf(pattern: string): RegExp {
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'u');
}
