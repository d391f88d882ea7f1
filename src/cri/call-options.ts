/** What every CRI call takes besides its request, and the form of requests. */

import type { GrpcCallOptions } from '../grpc/call-options.ts';
import type { Span } from '../platform/tracing.ts';

/** Limits of one call; without a `timeoutMs` the method's own default holds, 0 means none. */
export interface CriCallOptions extends GrpcCallOptions {
  /** The span of the work that the call is part of. */
  readonly span?: Span | undefined;
}

/** A message with any field left out: an absent field is its zero value. */
export type Init<T> = T extends string | number | boolean | Uint8Array
  ? T
  : T extends readonly (infer U)[]
    ? readonly Init<U>[]
    : string extends keyof T
      ? T
      : { readonly [K in keyof T]?: Init<T[K]> | undefined };
