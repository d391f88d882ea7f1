/**
 * Runs static pods with the same full name one after another, in order of arrival: a changed manifest is a new pod
 * with a new uid, which waits until the old one has terminated. Upstream: startedStaticPodsByFullname and
 * waitingToStartStaticPodsByFullname in pkg/kubelet/pod_workers.go.
 */

export interface StaticPodOrder {
  /** Appends the uid to those waiting for the name. */
  wait(fullName: string, uid: string): void;
  /**
   * Whether this uid may start now; if so it has the name until `release`. `gone`: whether a waiting uid will not
   * start any more.
   */
  allowStart(fullName: string, uid: string, gone: (uid: string) => boolean): boolean;
  /** The uid no longer runs; returns the next waiting one. */
  release(fullName: string, uid: string): string | undefined;
  /** The uid that has the name. */
  started(fullName: string): string | undefined;
  isWaiting(fullName: string): boolean;
}

export function createStaticPodOrder(): StaticPodOrder {
  const startedByFullName = new Map<string, string>();
  const waitingByFullName = new Map<string, string[]>();

  function leave(fullName: string, uid: string): void {
    const left = (waitingByFullName.get(fullName) ?? []).filter((waiting) => waiting !== uid);
    if (left.length === 0) waitingByFullName.delete(fullName);
    else waitingByFullName.set(fullName, left);
  }

  return {
    wait(fullName, uid) {
      const line = waitingByFullName.get(fullName) ?? [];
      if (!line.includes(uid)) waitingByFullName.set(fullName, [...line, uid]);
    },
    allowStart(fullName, uid, gone) {
      const started = startedByFullName.get(fullName);
      if (started !== undefined) return started === uid;
      for (const waiting of waitingByFullName.get(fullName) ?? []) {
        if (waiting === uid) break;
        if (!gone(waiting)) return false;
        leave(fullName, waiting);
      }
      leave(fullName, uid);
      startedByFullName.set(fullName, uid);
      return true;
    },
    release(fullName, uid) {
      leave(fullName, uid);
      if (startedByFullName.get(fullName) === uid) startedByFullName.delete(fullName);
      return startedByFullName.has(fullName) ? undefined : waitingByFullName.get(fullName)?.[0];
    },
    started: (fullName) => startedByFullName.get(fullName),
    isWaiting: (fullName) => waitingByFullName.has(fullName),
  };
}
