/** The services that the generic stores share. */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Random } from '../../platform/random.ts';
import type { Store } from '../../storage/store.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { HistoryRecorder } from '../history/history-recorder.ts';
import type { AdmissionChain } from '../admission/admission-chain.ts';
import type { ByteBudget } from '../flowcontrol/byte-budget.ts';
import type { PastReads } from './past-reads.ts';
import type { CacheHub } from '../watch-cache/cache-hub.ts';

/** Shared by all resources of one server. */
export interface RegistryServices {
  readonly store: Store;
  readonly hub: CacheHub;
  readonly pastReads: PastReads;
  /** Limits the bytes of lists and of initial states of watches while they are encoded. */
  readonly lists: ByteBudget;
  /** Absent: no history is kept. */
  readonly history: HistoryRecorder | undefined;
  readonly admission: AdmissionChain;
  /** Authorizers for actions of a verb beyond the request's own authorization. */
  readonly authorizers: readonly Authorizer[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
