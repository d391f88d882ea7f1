/** Explains why an ingress has no effect. */
import { IngressClasses, Ingresses, Secrets, Services } from '../../api/gen/resources.ts';
import type { Service } from '../../api/gen/core-v1.ts';
import type { Ingress, IngressServiceBackend } from '../../api/gen/networking-v1.ts';
import { appendAll } from '../../base/lists.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';

const DEFAULT_CLASS = 'ingressclass.kubernetes.io/is-default-class';
const OLD_ANNOTATION = 'kubernetes.io/ingress.class';
/** The limit of ports of one service that are listed. */
const MAX_PORTS = 20;

export async function explainIngress(ingress: Ingress, evidence: Evidence): Promise<Diagnosis> {
  const addresses = ingress.status?.loadBalancer?.ingress ?? [];
  const summary =
    addresses.length === 0
      ? 'has no address'
      : `is served at ${addresses.map(({ ip, hostname }) => ip ?? hostname).join(', ')}`;
  const causes = [
    ...(await classCauses(ingress, evidence)),
    ...(await backendCauses(ingress, evidence)),
    ...(await secretCauses(ingress, evidence)),
  ];
  if (causes.length === 0 && addresses.length === 0) causes.push(await noControllerCause(ingress, evidence));
  return { state: causes.length === 0 ? 'Fine' : 'Trouble', summary, causes };
}

async function classCauses(ingress: Ingress, evidence: Evidence): Promise<Cause[]> {
  const name = ingress.spec?.ingressClassName;
  const object = nameOfObject(Ingresses, ingress);
  if (name === undefined) {
    if (ingress.metadata.annotations?.[OLD_ANNOTATION] !== undefined) return [];
    const classes = await evidence.listed(IngressClasses);
    if (classes === undefined) return [];
    if (classes.some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true')) return [];
    const text =
      classes.length === 0
        ? 'install an ingress controller, or start Keelson with --gateway keelson'
        : `set spec.ingressClassName to one of ${classes.map(({ metadata }) => metadata.name).join(', ')}`;
    return [
      cause({
        code: 'NoIngressClass',
        object,
        message: 'it names no class, and no class is the default',
        cure: { text },
      }),
    ];
  }
  const { missing } = await evidence.get(IngressClasses, { name });
  if (!missing) return [];
  return [
    cause({
      code: 'IngressClassMissing',
      object: nameOf(IngressClasses, { name }),
      message: `ingress class ${name} does not exist`,
      cure: {
        text: `install the ingress controller of class ${name}, or name another class`,
        command: 'kubectl get ingressclass',
      },
    }),
  ];
}

function backendsOf({ spec }: Ingress): readonly IngressServiceBackend[] {
  const all = [
    spec?.defaultBackend,
    ...(spec?.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend)),
  ];
  return all.flatMap((backend) => (backend?.service === undefined ? [] : [backend.service]));
}

async function backendCauses(ingress: Ingress, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = ingress.metadata;
  const causes: Cause[] = [];
  for (const [name, asked] of Map.groupBy(backendsOf(ingress), (backend) => backend.name)) {
    const { object: service, missing } = await evidence.get(Services, { namespace, name });
    const at = nameOf(Services, { namespace, name });
    if (missing)
      causes.push(
        cause({
          code: 'BackendMissing',
          object: at,
          message: `service ${name}, to which it leads, does not exist`,
          cure: { text: `create service ${name} in namespace ${namespace}` },
        }),
      );
    else if (service !== undefined) {
      appendAll(causes, portCauses(service, asked));
      const { state, summary, causes: because } = await evidence.explain(Services, service);
      if (state === 'Trouble')
        causes.push(cause({ code: 'BackendNotReady', object: at, message: `service ${name} ${summary}`, because }));
    }
  }
  return causes;
}

/** Ports that the ingress refers to and its service lacks. */
function portCauses(service: Service, asked: readonly IngressServiceBackend[]): readonly Cause[] {
  const { ports = [], type } = service.spec ?? {};
  // A service that is an alias of another name has no ports.
  if (type === 'ExternalName') return [];
  const object = nameOfObject(Services, service);
  const numbers = new Set(ports.map(({ port }) => port));
  const names = new Set(ports.map(({ name }) => name));
  const missing = asked
    .flatMap(({ port }) => port ?? [])
    .filter(({ name, number }) => (name === undefined ? !numbers.has(number ?? 0) : !names.has(name)))
    .map(({ name, number }) => (name === undefined ? `port ${number}` : `port named ${name}`));
  const portTexts = ports
    .slice(0, MAX_PORTS)
    .map(({ name, port }) => (name === undefined ? `${port}` : `${name} (${port})`));
  return [...new Set(missing)].slice(0, MAX_PORTS).map((port) =>
    cause({
      code: 'BackendPortMissing',
      object,
      message: `service ${object.name} has no ${port}, to which it leads`,
      facts: [portTexts.length === 0 ? 'it has no ports' : `its ports: ${portTexts.join(', ')}`],
      cure: {
        text: 'name a port of the service in the ingress, or add the port to the service',
        command: `kubectl edit service ${object.name}${inNamespace(object)}`,
      },
    }),
  );
}

async function secretCauses(ingress: Ingress, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = ingress.metadata;
  const causes: Cause[] = [];
  for (const { secretName: name } of ingress.spec?.tls ?? []) {
    if (name === undefined || !(await evidence.get(Secrets, { namespace, name })).missing) continue;
    causes.push(
      cause({
        code: 'SecretMissing',
        object: nameOf(Secrets, { namespace, name }),
        message: `secret ${name} with its certificate does not exist`,
        cure: {
          text: `create it: kubernetes.io/tls, with tls.crt and tls.key`,
          command: `kubectl create secret tls ${name} -n ${namespace} --cert=FILE --key=FILE`,
        },
      }),
    );
  }
  return causes;
}

/** The ingress has no address; the ingress class names the controller that should set one. */
async function noControllerCause(ingress: Ingress, evidence: Evidence): Promise<Cause> {
  const name = ingress.spec?.ingressClassName;
  const { object: ingressClass } = name === undefined ? {} : await evidence.get(IngressClasses, { name });
  const controller = ingressClass?.spec?.controller;
  return cause({
    code: 'NotServed',
    object: nameOfObject(Ingresses, ingress),
    message: 'no ingress controller has published an address of it',
    cure:
      controller === GATEWAY_CONTROLLER
        ? {
            text: 'see whether Keelson was started with --gateway keelson, and what keeps it from its ports',
            command: 'keelson status',
          }
        : { text: `see whether the ingress controller ${controller ?? 'of its class'} runs, and read its log` },
  });
}
