// A load: valid objects whose lists or numbers are as large as the API server accepts.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import type { Cluster } from '../../../src/testing/cluster.ts';

export interface Load {
  readonly name: string;
  readonly nodes?: number;
  /** The iterator's `next` receives whether the previous object was created. */
  objects(): Iterator<JsonObject, unknown, boolean>;
  /** Some objects may be refused. */
  readonly mayBeRefused?: boolean;
  /** Runs after the cluster has processed the objects. */
  afterwards?(cluster: Cluster): Promise<void>;
}

/** A list of `count` values. */
export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const address = (at: number): string => `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
export { address };
