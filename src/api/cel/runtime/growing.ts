/** What loops collect in: it grows in place, for nothing else holds it until the loop is over. Upstream: cel-go's mutable lists and maps. */

import { copyOfMap } from './values.ts';

/** A list under construction. */
export class GrowingList extends Array<unknown> {
  // Methods that make lists make plain ones.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  settled(): unknown[] {
    return this.slice();
  }
}

/** A map under construction. */
export class GrowingMap extends Map<unknown, unknown> {
  settled(): Map<unknown, unknown> {
    return copyOfMap(this);
  }
}
