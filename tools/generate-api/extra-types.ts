// Types the facts know only as protobuf messages, or not at all (Table is JSON only), written down with what the
// wire tables cannot say: which fields are pointers and which drop their zero. Upstream: k8s.io/api and apimachinery types.go.

import type { FactField, FactType } from './facts.ts';

/** How a field of a protobuf-only type is held: `!` required and always written, `*` a pointer, `=` always written. */
type Marks = Record<string, '!' | '*' | '='>;

interface Extra {
  gvk?: [string, string, string];
  marks?: Marks;
  list?: Record<string, Partial<FactField>>;
}

const options = { marks: {} };
const metav1 = (kind: string): [string, string, string] => ['meta.k8s.io', 'v1', kind];
const gv = { group: '=', version: '=' } as const;

const extras: Record<string, Extra> = {
  'meta.v1.ListOptions': { gvk: ['', 'v1', 'ListOptions'], marks: { timeoutSeconds: '*', sendInitialEvents: '*' } },
  'meta.v1.GetOptions': { gvk: ['', 'v1', 'GetOptions'], ...options },
  'meta.v1.CreateOptions': { gvk: ['', 'v1', 'CreateOptions'], ...options },
  'meta.v1.UpdateOptions': { gvk: ['', 'v1', 'UpdateOptions'], ...options },
  'meta.v1.PatchOptions': { gvk: ['', 'v1', 'PatchOptions'], marks: { force: '*' } },
  'meta.v1.ApplyOptions': { gvk: metav1('ApplyOptions'), marks: { force: '=', fieldManager: '=' } },
  'meta.v1.TableOptions': { gvk: metav1('TableOptions') },
  'meta.v1.PartialObjectMetadata': { gvk: metav1('PartialObjectMetadata') },
  'meta.v1.PartialObjectMetadataList': { gvk: metav1('PartialObjectMetadataList'), marks: { items: '!' } },
  'meta.v1.GroupKind': { marks: { group: '=', kind: '=' } },
  'meta.v1.GroupVersion': { marks: gv },
  'meta.v1.GroupVersionKind': { marks: { ...gv, kind: '=' } },
  'meta.v1.GroupVersionResource': { marks: { ...gv, resource: '=' } },
  'admission.v1.AdmissionReview': {
    gvk: ['admission.k8s.io', 'v1', 'AdmissionReview'],
    marks: { request: '*', response: '*' },
  },
  'admission.v1.AdmissionRequest': {
    marks: {
      uid: '!',
      kind: '!',
      resource: '!',
      operation: '!',
      userInfo: '!',
      requestKind: '*',
      requestResource: '*',
      dryRun: '*',
    },
  },
  'admission.v1.AdmissionResponse': { marks: { uid: '!', allowed: '!', status: '*', patchType: '*' } },
  'apidiscovery.v2.APIGroupDiscovery': { gvk: ['apidiscovery.k8s.io', 'v2', 'APIGroupDiscovery'] },
  'apidiscovery.v2.APIGroupDiscoveryList': {
    gvk: ['apidiscovery.k8s.io', 'v2', 'APIGroupDiscoveryList'],
    marks: { items: '!' },
  },
  'apidiscovery.v2.APIVersionDiscovery': { marks: { version: '!' } },
  'apidiscovery.v2.APIResourceDiscovery': {
    marks: { resource: '!', responseKind: '*', scope: '!', singularResource: '!', verbs: '!' },
  },
  'apidiscovery.v2.APISubresourceDiscovery': { marks: { subresource: '!', responseKind: '*', verbs: '!' } },
  'apiextensions.v1.ConversionReview': {
    gvk: ['apiextensions.k8s.io', 'v1', 'ConversionReview'],
    marks: { request: '*', response: '*' },
  },
  'apiextensions.v1.ConversionRequest': { marks: { uid: '!', desiredAPIVersion: '!', objects: '!' } },
  'apiextensions.v1.ConversionResponse': { marks: { uid: '!', convertedObjects: '!', result: '!' } },
  'core.v1.List': { gvk: ['', 'v1', 'List'], marks: { items: '!' } },
  'core.v1.NodeProxyOptions': { gvk: ['', 'v1', 'NodeProxyOptions'] },
  'core.v1.PodAttachOptions': { gvk: ['', 'v1', 'PodAttachOptions'] },
  'core.v1.PodExecOptions': { gvk: ['', 'v1', 'PodExecOptions'], marks: { command: '!' } },
  'core.v1.PodLogOptions': {
    gvk: ['', 'v1', 'PodLogOptions'],
    marks: { sinceSeconds: '*', sinceTime: '*', tailLines: '*', limitBytes: '*', stream: '*' },
  },
  'core.v1.PodPortForwardOptions': { gvk: ['', 'v1', 'PodPortForwardOptions'] },
  'core.v1.PodProxyOptions': { gvk: ['', 'v1', 'PodProxyOptions'] },
  'core.v1.ServiceProxyOptions': { gvk: ['', 'v1', 'ServiceProxyOptions'] },
  'core.v1.RangeAllocation': { gvk: ['', 'v1', 'RangeAllocation'], marks: { range: '!', data: '!' } },
  'core.v1.SerializedReference': { gvk: ['', 'v1', 'SerializedReference'] },
  'imagepolicy.v1alpha1.ImageReview': { gvk: ['imagepolicy.k8s.io', 'v1alpha1', 'ImageReview'], marks: { spec: '!' } },
  'imagepolicy.v1alpha1.ImageReviewSpec': {},
  'imagepolicy.v1alpha1.ImageReviewContainerSpec': {},
  'imagepolicy.v1alpha1.ImageReviewStatus': { marks: { allowed: '!' } },
};

const str = (more: Partial<FactField> = {}): FactField => ({ type: 'string', omitempty: true, ...more });

const jsonOnly: Record<string, FactType> = {
  'meta.v1.Table': {
    gvk: metav1('Table'),
    fields: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'meta.v1.ListMeta', omitempty: true },
      columnDefinitions: { type: '[]meta.v1.TableColumnDefinition', required: true },
      rows: { type: '[]meta.v1.TableRow', required: true },
    },
  },
  'meta.v1.TableColumnDefinition': {
    fields: {
      name: { type: 'string', required: true },
      type: { type: 'string', required: true },
      format: { type: 'string', required: true },
      description: { type: 'string', required: true },
      priority: { type: 'int32', required: true },
    },
  },
  'meta.v1.TableRow': {
    fields: {
      cells: { type: '[]any', required: true },
      conditions: { type: '[]meta.v1.TableRowCondition', omitempty: true },
      object: { type: 'runtime.RawExtension', omitempty: true },
    },
  },
  'meta.v1.TableRowCondition': {
    fields: { type: str({ required: true }), status: str({ required: true }), reason: str(), message: str() },
  },
};

const renamed: Record<string, string> = { bool: 'boolean' };

function fieldOf(message: [number, string], mark: string | undefined): FactField {
  const [pb, pbType] = message;
  const field: FactField = { type: pbType.replace(/\w+$/, (w) => renamed[w] ?? w), pb, pbType };
  if (mark === '!') field.required = true;
  if (mark === '*') field.pointer = true;
  if (mark !== '!' && mark !== '=') field.omitempty = true;
  return field;
}

/** The overlay: fact types for the protobuf messages named above and for the JSON-only ones. */
export function extraTypes(messages: Record<string, Record<string, [number, string]>>): Record<string, FactType> {
  const out: Record<string, FactType> = { ...jsonOnly };
  for (const [name, { gvk, marks = {} }] of Object.entries(extras)) {
    const message = messages[name];
    if (message === undefined) throw new Error(`no protobuf message ${name} in the facts`);
    const fields: Record<string, FactField> = {};
    if (gvk !== undefined) Object.assign(fields, { apiVersion: { type: 'string' }, kind: { type: 'string' } });
    for (const [field, entry] of Object.entries(message)) fields[field] = fieldOf(entry, marks[field]);
    out[name] = gvk === undefined ? { fields } : { fields, gvk };
  }
  return out;
}
