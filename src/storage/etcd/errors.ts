/** Translates errors of gRPC and etcd into the store's. */
import { GrpcError } from '../../grpc/grpc-error.ts';
import { StoreError } from '../store.ts';

/** etcd's error messages, and the store's codes for them. */
const ETCD_ERRORS: readonly (readonly [RegExp, StoreError['code'], string])[] = [
  [/required revision has been compacted/, 'compacted', ''],
  [/required revision is a future revision/, 'futureRevision', ''],
  [
    /database space exceeded/,
    'full',
    ' (compact and defragment etcd, then disarm its alarm with etcdctl alarm disarm)',
  ],
  [/request is too large|message larger than max/, 'tooLarge', ''],
  [/corrupt/, 'corrupt', ' (restore this etcd member from a snapshot)'],
];

/** The member refused before doing anything, so another may get the same call. */
const REFUSED_UNDONE =
  /^etcdserver: (no leader|not leader|too many requests|server stopped|not capable|rpc not supported for learner)$/;

/** Whether a retry at another member cannot repeat a write. */
export function isUndone(error: unknown): boolean {
  return error instanceof GrpcError && (!error.sent || REFUSED_UNDONE.test(error.detail));
}

/** Whether the cause is the member and not the request. */
export function isMembersFault(error: unknown): boolean {
  return error instanceof GrpcError && (error.code === 'Unavailable' || error.code === 'DeadlineExceeded');
}

/** `doing`: the failed operation; `writes`: without an answer its outcome is unknown. */
export function storeErrorOf(error: unknown, { doing, writes }: { doing: string; writes: boolean }): unknown {
  if (!(error instanceof GrpcError)) return error;
  const { code, detail } = error;
  for (const [pattern, storeCode, advice] of ETCD_ERRORS)
    if (pattern.test(detail)) return new StoreError(storeCode, `${detail}${advice}`, { cause: error });
  const text = `etcd: ${doing}: ${detail}`;
  if (code === 'PermissionDenied' || code === 'Unauthenticated')
    return new StoreError('unavailable', `${text} (check the client certificate and its roles)`, { cause: error });
  const open = code === 'Unavailable' || code === 'DeadlineExceeded' || code === 'Canceled' || code === 'Unknown';
  const unknown = writes && open && !isUndone(error);
  return new StoreError(unknown ? 'unknownOutcome' : 'unavailable', text, { cause: error });
}
