/**
 * Enforces network policies on one node: follows NetworkPolicies, and once there is one also Pods and Namespaces, and
 * keeps the policy table up to date. Egress is enforced on the sender's node and ingress on the receiver's.
 * Level-triggered: every round compares the desired state with the programmed one; every minute, and after a failure,
 * the whole table is written, which repairs changes by others. The rules remain after a stop.
 */
import { removalScript } from '../nft-script.ts';
import { onAbort } from '../../base/abort.ts';
import { Namespaces, NetworkPolicies, Nodes, Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { createBackoff } from '../../base/backoff.ts';
import { stepByStep, type Steps } from '../../base/steps.ts';
import { parseCidr } from '../../base/cidr.ts';
import type { Informer, InformerFactory, InformerHandler } from '../../client/informer.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { runOrThrow } from '../../platform/run-or-throw.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import { createExcessReport, type ReportExcess } from '../excess-report.ts';
import { PolicyBook, type PolicyState } from './policy-book.ts';
import { podView, policyPodProjection } from './policy-pods.ts';
import { readPolicy } from './policy-rules.ts';
import { policyChangeScript, policyRewriteScript, type PolicyTableConfig } from './policy-script.ts';

export interface NetworkPoliciesDeps {
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'exec' | 'clock' | 'log' | 'crypto'>;
  /** Records events about policies that are too large. Absent: they are only logged. */
  readonly recorder?: EventRecorder;
}

/** Names and ranges of the instance. */
export interface NetworkPoliciesConfig {
  readonly nodeName: string;
  readonly table: string;
  readonly clusterCidr: string;
}

const REWRITE_PERIOD_MS = 60_000;
const RETRY = { initialMs: 100, maxMs: 30_000 };

/** Keeps the policy table until the signal aborts. Never rejects. */
export async function runNetworkPolicies(
  deps: NetworkPoliciesDeps,
  config: NetworkPoliciesConfig,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps.platform;
  const follower = new Follower(deps, config, signal);
  const backoff = createBackoff(RETRY);
  let rewrite = true; // an earlier run's table may differ
  const stopTicker = clock.setTicker(REWRITE_PERIOD_MS, () => {
    rewrite = true;
    follower.kick();
  });
  onAbort(signal, () => follower.kick());
  let programmed: PolicyState | undefined;
  while (!signal.aborted) {
    await follower.woken();
    if (signal.aborted || !follower.synced()) continue;
    await follower.takeChanges();
    const state = follower.state();
    const table = follower.table();
    // Without a table and without policies, nft need not run.
    if (state.empty && programmed?.empty === true) continue;
    const whole = rewrite || programmed === undefined || programmed.empty !== state.empty || follower.tableChanged();
    rewrite = false;
    const script =
      whole || programmed === undefined
        ? policyRewriteScript(table, state)
        : policyChangeScript(table, programmed, state);
    try {
      if (script !== '') await nft(deps, script);
      programmed = state;
      backoff.reset();
    } catch (error) {
      const delayMs = backoff.nextMs();
      logFailedRound(log, 'network policies were not applied, again later', { err: error, delayMs });
      rewrite = true;
      follower.kick();
      await sleepUnlessAborted(clock, delayMs, signal);
    }
  }
  stopTicker();
}

/** Removes the table; a missing one is no error. */
export function removeNetworkPolicies(
  deps: { readonly platform: Pick<Platform, 'exec'> },
  config: Pick<NetworkPoliciesConfig, 'table' | 'clusterCidr'>,
): Promise<void> {
  const family = parseCidr(config.clusterCidr)?.family ?? 4;
  return nft(deps, removalScript({ family, name: config.table }));
}

async function nft({ platform }: { readonly platform: Pick<Platform, 'exec'> }, input: string): Promise<void> {
  await runOrThrow(platform.exec, ['nft', '-f', '-'], { input });
}

/** Updates the book from the cluster's objects, and reports changes. */
class Follower {
  readonly #deps: NetworkPoliciesDeps;
  readonly #config: NetworkPoliciesConfig;
  readonly #signal: AbortSignal;
  readonly #family: 4 | 6;
  readonly #policies: ReturnType<typeof policiesOf>;
  readonly #nodes: ReturnType<typeof nodesOf>;
  readonly #reportExcess: ReportExcess;
  readonly #waits: Pick<Informer<KubernetesObject>, 'hasSynced'>[] = [];
  readonly #book: PolicyBook;
  /** Changes that are not in the book yet, by object: only the latest of each. */
  readonly #changes = new Map<string, Steps<void>>();
  #labelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined = () => undefined;
  #wake = Promise.withResolvers<void>();
  #podsFollowed = false;
  #usedCidr: string | undefined;

  constructor(deps: NetworkPoliciesDeps, config: NetworkPoliciesConfig, signal: AbortSignal) {
    this.#deps = deps;
    this.#config = config;
    this.#signal = signal;
    this.#family = parseCidr(config.clusterCidr)?.family ?? 4;
    const { crypto } = deps.platform;
    const sha256Hex = (text: string): string => crypto.sha256Hex(text);
    this.#book = new PolicyBook((namespace) => this.#labelsOf(namespace), sha256Hex);
    const { recorder, platform } = deps;
    this.#reportExcess = createExcessReport({ log: platform.log.child('proxy'), recorder }, 'NetworkPolicyTooLarge');
    this.#policies = policiesOf(deps.informers);
    this.#nodes = nodesOf(deps.informers, config.nodeName);
    this.#follow(this.#policies, (key, policy) => {
      // Pods are followed only once there is a policy, so that other clusters have no copy of them on each node.
      if (policy !== undefined) this.#followPods();
      const view = policy && readPolicy(policy, { family: this.#family, sha256Hex });
      this.#reportExcess(key, policy, view?.excess && `all its traffic is refused: ${view.excess}`);
      return this.#book.setPolicy(key, view);
    });
    this.#follow(this.#nodes, () => undefined);
  }

  kick(): void {
    this.#wake.resolve();
  }

  /** Resolves after a change; changes of one event arrive in one turn. */
  async woken(): Promise<void> {
    await this.#wake.promise;
    await this.#deps.platform.clock.yield();
    this.#wake = Promise.withResolvers();
  }

  /** Brings the book up to date, with yields. */
  async takeChanges(): Promise<void> {
    const { clock, log } = this.#deps.platform;
    for (const key of [...this.#changes.keys()]) {
      const change = this.#changes.get(key)!;
      this.#changes.delete(key);
      try {
        const steps = stepByStep(change, () => clock.yield());
        if (steps !== undefined) await steps;
      } catch (error) {
        logFailedRound(log, 'a change was not taken into network policies', { err: error, change: key });
      }
    }
  }

  synced(): boolean {
    return this.#waits.every((informer) => informer.hasSynced());
  }

  state(): PolicyState {
    return this.#book.state();
  }

  table(): PolicyTableConfig {
    const podCidr = this.#podCidr();
    return { family: this.#family, name: this.#config.table, podCidr };
  }

  /** Whether the pods' range in the table's fixed rules has changed since the last call. */
  tableChanged(): boolean {
    const changed = this.#usedCidr !== this.#podCidr();
    this.#usedCidr = this.#podCidr();
    return changed;
  }

  #podCidr(): string | undefined {
    const ranges = this.#nodes.get({ name: this.#config.nodeName })?.spec?.podCIDRs ?? [];
    return ranges.find((range) => parseCidr(range)?.family === this.#family);
  }

  #followPods(): void {
    if (this.#podsFollowed) return;
    this.#podsFollowed = true;
    const { informers } = this.#deps;
    const { nodeName } = this.#config;
    const namespaces = informers.informer(Namespaces);
    this.#labelsOf = (namespace) => {
      const namespaceObject = namespaces.get({ name: namespace });
      return namespaceObject && (namespaceObject.metadata.labels ?? {});
    };
    this.#follow(namespaces, (key) => this.#book.namespaceChanged(key));
    const pods = informers.informer(Pods, { projection: policyPodProjection });
    this.#follow(pods, (key, pod) => this.#book.setPod(key, pod && podView(pod, { family: this.#family, nodeName })));
    informers.start(this.#signal);
  }

  #follow<T extends KubernetesObject>(
    informer: Informer<T>,
    change: (key: string, object: Stored<T> | undefined) => Steps<void> | undefined,
  ): void {
    const keyOf = ({ metadata: { namespace, name } }: Stored<T>): string => (namespace ? `${namespace}/${name}` : name);
    const at = this.#waits.length;
    const changed = (object: Stored<T>, present: Stored<T> | undefined): void => {
      const steps = change(keyOf(object), present);
      if (steps !== undefined) this.#changes.set(`${at} ${keyOf(object)}`, steps);
      this.kick();
    };
    const handler: InformerHandler<T> = {
      onAdd: (object) => changed(object, object),
      onUpdate: (_old, object) => changed(object, object),
      onDelete: (object) => changed(object, undefined),
    };
    informer.addHandler(handler);
    this.#waits.push(informer);
    informer.waitForSync(this.#signal).then(
      () => this.kick(),
      () => undefined, // aborted
    );
  }
}

function policiesOf(informers: InformerFactory) {
  return informers.informer(NetworkPolicies);
}

function nodesOf(informers: InformerFactory, nodeName: string) {
  return informers.informer(Nodes, { fieldSelector: `metadata.name=${nodeName}` });
}
