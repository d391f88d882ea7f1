/**
 * Lists and maps that loops build. They are changed in place: nothing else references them until the loop is over. Upstream:
 * cel-go's mutable lists and maps.
 */

import { copyOfMap } from './values.ts';

/** A list under construction. */
export class GrowingList extends Array<unknown> {
  // Array methods such as map and slice return plain arrays.
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
