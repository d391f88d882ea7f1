/** The members of an etcd cluster: lists, adds, promotes and removes them. Upstream: etcdctl member. */
import type { Clock } from '../../platform/clock.ts';
import { EtcdClient, type EtcdClientConfig } from './etcd-client.ts';
import { StoreError } from '../store.ts';
import type { EtcdMember } from './etcd-table.ts';

/** Calls about members. All reject with `StoreError`. */
export interface EtcdMembers {
  list(): Promise<readonly EtcdMember[]>;
  /** Adds a member as a learner; it must then be started with the cluster's other members. */
  addLearner(peerUrl: string): Promise<void>;
  /** Refused ("in sync with leader") while it has not caught up. */
  promote(id: string): Promise<void>;
  /** A member that is already gone, as after an attempt whose answer was lost, is no error. */
  remove(id: string): Promise<void>;
  /** Replaces the members that are called. */
  setEndpoints(endpoints: readonly string[]): void;
  close(): void;
}

/** A member may not know yet of a removal that the leader has committed. */
const GONE = /member (not found|has already been removed)|permanently removed/;

/** Connects with the first call. */
export function createEtcdMembers(deps: { readonly clock: Clock }, config: EtcdClientConfig): EtcdMembers {
  const client = new EtcdClient(deps, config);
  return {
    list: async () => (await client.call('Cluster/MemberList', {}, { doing: 'listing the members' })).members,
    async addLearner(peerUrl) {
      const request = { peerURLs: [peerUrl], isLearner: true };
      await client.call('Cluster/MemberAdd', request, { doing: `adding the member ${peerUrl}`, writes: true });
    },
    async promote(ID) {
      await client.call('Cluster/MemberPromote', { ID }, { doing: 'promoting a member', writes: true });
    },
    async remove(ID) {
      try {
        await client.call('Cluster/MemberRemove', { ID }, { doing: 'removing a member', writes: true });
      } catch (error) {
        if (!(error instanceof StoreError && GONE.test(error.message))) throw error;
      }
    },
    setEndpoints: (endpoints) => client.setEndpoints(endpoints),
    close: () => client.close(),
  };
}
