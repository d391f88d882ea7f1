/** Explains why the image of a container is missing. */
import { Pods, Secrets } from '../../api/gen/resources.ts';
import type { Container, ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import type { PullErrorClass } from '../../api/pod-node-state.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure } from '../explanation.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';
import { nodeStateOf } from './node-state.ts';

/** Cures by the waiting reason. Upstream: kubelet/images ErrImage*, sets of errors of kuberuntime. */
const cures: Readonly<Record<string, (image: string) => Cure>> = {
  ErrImagePull: pullCure,
  ImagePullBackOff: pullCure,
  RegistryUnavailable: (image) => ({ text: `reach the registry of ${image} from the node: name, network, proxy` }),
  InvalidImageName: (image) => ({ text: `write the name of the image as REGISTRY/NAME:TAG; ${image} is none` }),
  ErrImageNeverPull: (image) => ({ text: `load ${image} onto the node, or set imagePullPolicy to IfNotPresent` }),
  ImageInspectError: () => ({ text: 'read the log of the container runtime of the node' }),
  SignatureValidationFailed: (image) => ({ text: `sign ${image}, or change the signature policy of the node` }),
};

function pullCure(image: string): Cure {
  return {
    text: `check that ${image} exists, and that the node may pull it (imagePullSecrets, rate limits of the registry)`,
  };
}

/** Causes by the kubelet's class of the registry's error. */
const classes: Readonly<
  Partial<Record<PullErrorClass, { readonly message: string; readonly cure: (image: string, pod: Pod) => Cure }>>
> = {
  NotFound: {
    message: 'its registry has no such image',
    cure: (image) => ({ text: `correct the name and tag, or push ${image}` }),
  },
  Unauthorized: {
    message: 'its registry does not give it to the credentials of the node and the pod',
    cure: (image, { metadata }) => ({
      text: `check the name of ${image}; if it is right, name a pull secret in imagePullSecrets`,
      command: `kubectl create secret docker-registry NAME${inNamespace(metadata)} --docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD`,
    }),
  },
  RateLimited: {
    message: 'its registry limits the rate',
    cure: () => ({ text: 'wait, pull with an account, or use a mirror of the registry' }),
  },
  Network: {
    message: 'its registry is out of reach of the node, or not trusted',
    cure: () => ({ text: 'see name resolution, proxy, firewall and certificates on the node' }),
  },
};

export function isImageReason(reason: string): boolean {
  return Object.hasOwn(cures, reason);
}

export async function imageCauses(
  pod: Pod,
  container: Container,
  { state }: ContainerStatus,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { reason = '' } = state?.waiting ?? {};
  const image = container.image ?? '';
  const failed = (await nodeStateOf(pod, evidence))?.failedPulls.find((pull) => pull.image === image);
  const meaning = failed === undefined ? undefined : classes[failed.errorClass];
  return [
    cause({
      code: reason === 'ImagePullBackOff' ? 'ErrImagePull' : reason,
      object: nameOfObject(Pods, pod),
      message: `image ${image} of container ${container.name} could not be pulled${meaning === undefined ? '' : `: ${meaning.message}`}`,
      nextTry: failed?.nextTry,
      facts: await pullMessages(pod, container, state?.waiting?.message, evidence),
      cure: meaning?.cure(image, pod) ?? cures[reason]!(image),
    }),
    ...(await pullSecretCauses(pod, evidence)),
  ];
}

/** The runtime's messages. In back-off, only the container's events have them. */
async function pullMessages(
  pod: Pod,
  container: Container,
  message: string | undefined,
  evidence: Evidence,
): Promise<readonly string[]> {
  const place = `{${container.name}}`;
  const failed = (await evidence.events(pod)).find(
    ({ reason, involvedObject }) => reason === 'Failed' && (involvedObject.fieldPath ?? '').endsWith(place),
  );
  return [...new Set([message ?? '', failed?.message ?? ''])].filter((text) => text !== '');
}

/** The kubelet ignores pull secrets that do not exist. */
async function pullSecretCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = pod.metadata;
  const causes: Cause[] = [];
  for (const { name = '' } of pod.spec?.imagePullSecrets ?? []) {
    const { missing } = await evidence.get(Secrets, { namespace, name });
    if (!missing) continue;
    const at = nameOf(Secrets, { namespace, name });
    causes.push(
      cause({
        code: 'PullSecretMissing',
        object: at,
        message: `pull secret ${name} does not exist, so the image is pulled without it`,
        cure: {
          text: `create secret ${name}`,
          command: `kubectl create secret docker-registry ${name}${inNamespace(at)} --docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD`,
        },
      }),
    );
  }
  return causes;
}
