/**
 * A small operator, written with `@kubernetes/client-node` and knowing nothing of Keelson: every Website (a custom
 * resource, see `website-crd.yaml`) gets a Deployment that it owns. A finalizer gives the operator the last word when a website
 * is deleted; a Lease lets one of several replicas work at a time.
 */
import {
  AppsV1Api,
  CoordinationV1Api,
  CustomObjectsApi,
  makeInformer,
  V1MicroTime,
  type Informer,
  type ObjectCache,
  type KubeConfig,
  type V1Deployment,
  type KubernetesListObject,
  type V1Lease,
  type V1ObjectMeta,
} from '@kubernetes/client-node';

const GROUP = { group: 'example.com', version: 'v1', plural: 'websites' };
const FINALIZER = 'example.com/website';
const LEASE = 'website-operator';

/** The custom resource. */
interface Website {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: V1ObjectMeta;
  readonly spec: { readonly image: string; readonly replicas: number };
  readonly status?: { readonly ready?: boolean };
}

/** The running operator. */
export interface Operator {
  /** Whether this replica is the one that works. */
  isLeader(): boolean;
  /** Names of websites whose end was seen to. */
  readonly archived: readonly string[];
  stop(): Promise<void>;
}

/** Starts a replica of the operator. `identity` names it among others. */
export async function startOperator(kubeConfig: KubeConfig, namespace: string, identity: string): Promise<Operator> {
  const custom = kubeConfig.makeApiClient(CustomObjectsApi);
  const apps = kubeConfig.makeApiClient(AppsV1Api);
  const leases = kubeConfig.makeApiClient(CoordinationV1Api);
  const archived: string[] = [];
  const informer: Informer<Website> & ObjectCache<Website> = makeInformer<Website>(
    kubeConfig,
    `/apis/${GROUP.group}/${GROUP.version}/namespaces/${namespace}/${GROUP.plural}`,
    () => custom.listNamespacedCustomObject({ ...GROUP, namespace }) as Promise<KubernetesListObject<Website>>,
  );
  let queue = Promise.resolve();
  let stopped = false;
  const enqueue = (name: string): void => {
    queue = queue
      .then(() => (election.isLeader() ? reconcile(name) : undefined))
      .catch(() => void setTimeout(() => stopped || enqueue(name), 1000).unref()); // A conflict, or the server is away.
  };
  const see = ({ metadata }: Website): void => enqueue(metadata.name ?? '');
  const election = createElection(leases, namespace, identity);
  informer.on('add', see);
  informer.on('update', see);
  informer.on('error', () => setTimeout(() => void informer.start(), 1000).unref());
  // What was seen without the lease was left alone: a new leader looks at everything.
  await election.start(() => informer.list().forEach(see));
  await informer.start();

  async function reconcile(name: string): Promise<void> {
    const at = { ...GROUP, namespace, name };
    const website = (await custom.getNamespacedCustomObject(at).catch(undefinedIfGone)) as Website | undefined;
    if (website === undefined) return;
    const { metadata } = website;
    if (metadata.deletionTimestamp !== undefined) {
      if (metadata.finalizers?.includes(FINALIZER) !== true) return;
      archived.push(name); // Where a real operator would save what must not be lost.
      metadata.finalizers = metadata.finalizers.filter((finalizer) => finalizer !== FINALIZER);
      await custom.replaceNamespacedCustomObject({ ...at, body: website });
      return;
    }
    if (metadata.finalizers?.includes(FINALIZER) !== true) {
      metadata.finalizers = [...(metadata.finalizers ?? []), FINALIZER];
      await custom.replaceNamespacedCustomObject({ ...at, body: website });
      return; // The update comes back as an event.
    }
    await ensureDeployment(website);
  }

  async function ensureDeployment(website: Website): Promise<void> {
    const wanted = deploymentOf(website, namespace);
    const name = wanted.metadata?.name ?? '';
    const current = await apps.readNamespacedDeployment({ name, namespace }).catch(undefinedIfGone);
    if (current === undefined) await apps.createNamespacedDeployment({ namespace, body: wanted });
    else if (current.spec?.replicas !== wanted.spec?.replicas) {
      current.spec!.replicas = wanted.spec!.replicas!;
      await apps.replaceNamespacedDeployment({ name, namespace, body: current });
    }
  }

  return {
    isLeader: election.isLeader,
    archived,
    async stop() {
      stopped = true;
      await informer.stop();
      await election.stop();
      await queue;
    },
  };
}

function deploymentOf({ apiVersion, kind, metadata, spec }: Website, namespace: string): V1Deployment {
  const name = metadata.name ?? '';
  const labels = { website: name };
  return {
    metadata: {
      name,
      namespace,
      labels,
      ownerReferences: [
        {
          apiVersion,
          kind,
          name,
          uid: metadata.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: spec.image }] } },
    },
  };
}

function undefinedIfGone(error: unknown): undefined {
  if ((error as { code?: number }).code === 404) return undefined;
  throw error;
}

/** One of all replicas holds the lease; it renews it every second, and whoever finds it five seconds old takes it. */
function createElection(
  leases: CoordinationV1Api,
  namespace: string,
  identity: string,
): { isLeader(): boolean; start(onLeading: () => void): Promise<void>; stop(): Promise<void> } {
  let leading = false;
  let began: () => void;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const spec = (): V1Lease['spec'] => ({
    holderIdentity: identity,
    leaseDurationSeconds: 5,
    renewTime: new V1MicroTime(),
  });
  const isFree = ({ spec: held }: V1Lease): boolean =>
    !held?.holderIdentity ||
    held.holderIdentity === identity ||
    Date.now() - new Date(held.renewTime ?? 0).getTime() > 5000;
  const attempt = async (): Promise<void> => {
    const led = leading;
    try {
      const lease = await leases.readNamespacedLease({ name: LEASE, namespace }).catch(undefinedIfGone);
      if (lease === undefined)
        await leases.createNamespacedLease({ namespace, body: { metadata: { name: LEASE }, spec: spec()! } });
      else if (isFree(lease))
        await leases.replaceNamespacedLease({ name: LEASE, namespace, body: { ...lease, spec: spec()! } });
      leading = lease === undefined || isFree(lease);
    } catch {
      leading = false; // Somebody else was quicker, or the server is away.
    }
    if (leading && !led) began();
  };
  return {
    isLeader: () => leading,
    async start(onLeading) {
      began = onLeading;
      await attempt();
      timer = setInterval(() => (running = running.then(attempt)), 1000).unref();
    },
    async stop() {
      clearInterval(timer);
      await running; // A renewal on its way would make the release a conflict.
      if (!leading) return;
      leading = false;
      const lease = await leases.readNamespacedLease({ name: LEASE, namespace });
      await leases.replaceNamespacedLease({
        name: LEASE,
        namespace,
        body: { ...lease, spec: { ...lease.spec, holderIdentity: '' } },
      });
    },
  };
}
