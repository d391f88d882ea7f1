/** Issues tokens of service accounts. Upstream: registry/core/serviceaccount/storage/token.go. */
import { Field } from '../../../../api/field-error.ts';
import type { TokenRequest } from '../../../../api/gen/authentication-v1.ts';
import type { ServiceAccount } from '../../../../api/gen/core-v1.ts';
import { Nodes, Pods, Secrets, ServiceAccounts } from '../../../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../../../api/object.ts';
import { badRequest, conflict, invalid, notFound } from '../../../../api/status-error.ts';
import { formatTime } from '../../../../api/time.ts';
import type { ObjectStore } from '../../object-store.ts';
import type { CreateSubresource, NamedCreateRequest } from '../../resource-definition.ts';
import type { IssueServiceAccountToken, ServiceAccountTokenOrder } from '../../services.ts';

const MIN_EXPIRATION_SECONDS = 600;
const MAX_EXPIRATION_SECONDS = 2 ** 32;
const DEFAULT_EXPIRATION_SECONDS = 3600;

const KIND = { group: 'authentication.k8s.io', kind: 'TokenRequest' };

/** Throws unless the request's metadata are empty or match the account's. */
function checkMetadata({ metadata }: TokenRequest, { name = '', namespace, uid }: ServiceAccount['metadata']): void {
  const field = Field.root().at('metadata');
  const input = metadata ?? {};
  if ((input.name ?? '') !== '' && input.name !== name)
    field.at('name').invalid(input.name, 'must match the service account name if specified');
  else if ((input.namespace ?? '') !== '' && input.namespace !== namespace)
    field.at('namespace').invalid(input.namespace, 'must match the service account namespace if specified');
  if (field.errors.length > 0) throw invalid(KIND, name, field.errors);
  if ((input.uid ?? '') !== '' && input.uid !== uid)
    throw conflict(
      { group: KIND.group, resource: KIND.kind },
      name,
      `the UID in the token request (${input.uid}) does not match the UID of the service account (${uid})`,
    );
}

function validate(request: TokenRequest): void {
  const field = Field.root().at('spec').at('expirationSeconds');
  const seconds = request.spec!.expirationSeconds!;
  if (seconds < MIN_EXPIRATION_SECONDS) field.invalid(seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > MAX_EXPIRATION_SECONDS) field.invalid(seconds, 'may not specify a duration larger than 2^32 seconds');
  if (field.errors.length > 0) throw invalid(KIND, '', field.errors);
}

type Bound = Pick<ServiceAccountTokenOrder, 'bound' | 'node'>;

function boundObject(objects: ObjectStore, account: Stored<ServiceAccount>, request: TokenRequest): Bound {
  const reference = request.spec?.boundObjectRef;
  if (reference === undefined) return {};
  const { kind = '', apiVersion = '', name = '' } = reference;
  const namespace = account.metadata.namespace;
  if (!['Pod', 'Secret', 'Node'].includes(kind) || apiVersion !== 'v1') {
    throw badRequest(`cannot bind token to object of type ${apiVersion === '' ? '' : `/${apiVersion}`}, Kind=${kind}`);
  }
  const info = kind === 'Pod' ? Pods : kind === 'Secret' ? Secrets : Nodes;
  const object = objects.get<KubernetesObject>(info, kind === 'Node' ? '' : namespace, name);
  if (object === undefined) throw notFound(info, name);
  const uid = object.metadata.uid;
  if ((reference.uid ?? '') !== '' && reference.uid !== uid) {
    const text = `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: '', resource: info.resource }, name, text);
  }
  const bound: Bound = { bound: { kind, name, uid } };
  return kind === 'Pod' ? { ...bound, ...nodeOf(objects, account, { namespace, name }) } : bound;
}

function nodeOf(
  objects: ObjectStore,
  account: Stored<ServiceAccount>,
  key: { namespace: string; name: string },
): Bound {
  const pod = objects.get(Pods, key.namespace, key.name);
  if ((pod?.spec?.serviceAccountName ?? '') !== account.metadata.name) {
    throw badRequest(
      `cannot bind token for serviceaccount "${account.metadata.name}" to pod running with different serviceaccount name.`,
    );
  }
  const nodeName = pod?.spec?.nodeName ?? '';
  if (nodeName === '') return {};
  const uid = objects.get(Nodes, '', nodeName)?.metadata.uid;
  return { node: { name: nodeName, uid } };
}

/** The `token` sub-resource. */
export function tokenSubresource(objects: ObjectStore, issue: IssueServiceAccountToken): CreateSubresource {
  return {
    async create({ namespace, name, body, dryRun, context }: NamedCreateRequest) {
      const account = objects.get(ServiceAccounts, namespace, name);
      if (account === undefined) throw notFound(ServiceAccounts, name);
      const input = body as TokenRequest;
      checkMetadata(input, account.metadata);
      const { uid } = account.metadata;
      const spec = {
        audiences: input.spec?.audiences ?? [],
        ...input.spec,
        expirationSeconds: input.spec?.expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS,
      };
      const request: TokenRequest = {
        kind: KIND.kind,
        apiVersion: `${KIND.group}/v1`,
        metadata: { ...input.metadata, name, namespace, uid },
        spec,
      };
      validate(request);
      const bound = boundObject(objects, account, request);
      // A dry run signs nothing, since the token would work.
      if (dryRun) return request;
      const { token, expiresAtMs, expirationSeconds, audiences } = await issue({
        serviceAccount: account,
        request,
        ...bound,
      });
      // The lifetime may be shorter than requested: clients that renew after a part of it must know.
      if (expirationSeconds < spec.expirationSeconds)
        context.addWarning(
          `requested expiration of ${spec.expirationSeconds} seconds shortened to ${expirationSeconds} seconds`,
        );
      return {
        ...request,
        spec: { ...spec, audiences: [...audiences], expirationSeconds },
        status: { token, expirationTimestamp: formatTime(expiresAtMs) },
      };
    },
  };
}
