/**
 * The CustomResourceDefinitions of HelmChart and HelmChartConfig, with k3s's fields, defaults and columns. Differs: a
 * HelmChartConfig has no default failure policy, which would override the HelmChart's.
 */
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { HELM_GROUP, HelmChartConfigs, HelmCharts } from './helm-kinds.ts';

/** Marks definitions whose objects this server manages; others belong to another controller. */
export const RUN_BY_ANNOTATION = 'keelson.dev/helm';

const TEXT = { type: 'string' };
const FLAG = { type: 'boolean' };
const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const REFERENCE = { type: 'object', properties: { name: TEXT } };
const FAILURE_POLICY = { type: 'string', enum: ['abort', 'reinstall', 'retry'] };

const SETTINGS = {
  values: { 'x-kubernetes-preserve-unknown-fields': true },
  valuesContent: TEXT,
  valuesSecrets: {
    type: 'array',
    items: {
      type: 'object',
      properties: { name: TEXT, keys: { type: 'array', items: TEXT }, ignoreUpdates: FLAG },
    },
  },
  failurePolicy: FAILURE_POLICY,
  serverSide: { type: 'string', enum: ['true', 'false', 'auto'] },
  forceConflicts: FLAG,
};

const CHART_SPEC = {
  ...SETTINGS,
  failurePolicy: { ...FAILURE_POLICY, default: 'reinstall' },
  targetNamespace: TEXT,
  createNamespace: FLAG,
  chart: TEXT,
  version: TEXT,
  repo: TEXT,
  repoCA: TEXT,
  repoCAConfigMap: REFERENCE,
  set: {
    type: 'object',
    additionalProperties: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      'x-kubernetes-int-or-string': true,
    },
  },
  helmVersion: TEXT,
  bootstrap: FLAG,
  takeOwnership: FLAG,
  chartContent: TEXT,
  jobImage: TEXT,
  backOffLimit: { type: 'integer', format: 'int32', minimum: 0 },
  timeout: TEXT,
  authSecret: REFERENCE,
  authPassCredentials: FLAG,
  insecureSkipTLSVerify: FLAG,
  plainHTTP: FLAG,
  dockerRegistrySecret: REFERENCE,
  podSecurityContext: OPEN,
  securityContext: OPEN,
  driver: {
    type: 'string',
    enum: ['secret', 'configmap'],
    default: 'secret',
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'driver is immutable after creation' }],
  },
};

const CHART_STATUS = {
  type: 'object',
  properties: {
    jobName: TEXT,
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status'],
        properties: { type: TEXT, status: TEXT, reason: TEXT, message: TEXT },
      },
    },
  },
};

const COLUMNS = [
  { name: 'Repo', type: 'string', jsonPath: '.spec.repo' },
  { name: 'Chart', type: 'string', jsonPath: '.spec.chart' },
  { name: 'Version', type: 'string', jsonPath: '.spec.version' },
  { name: 'TargetNamespace', type: 'string', jsonPath: '.spec.targetNamespace' },
  { name: 'Bootstrap', type: 'boolean', jsonPath: '.spec.bootstrap' },
  { name: 'Failed', type: 'string', jsonPath: ".status.conditions[?(@.type=='Failed')].status" },
  { name: 'Job', type: 'string', jsonPath: '.status.jobName', priority: 10 },
];

/** The definitions, to be applied as they are. */
export function helmDefinitions(): CustomResourceDefinition[] {
  return [
    definition(HelmCharts, { spec: { type: 'object', properties: CHART_SPEC }, status: CHART_STATUS }),
    definition(HelmChartConfigs, { spec: { type: 'object', properties: SETTINGS } }),
  ];
}

function definition(info: typeof HelmCharts | typeof HelmChartConfigs, properties: object): CustomResourceDefinition {
  const isChart = info.kind === 'HelmChart';
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${info.resource}.${HELM_GROUP}`, annotations: { [RUN_BY_ANNOTATION]: 'run' } },
    spec: {
      group: HELM_GROUP,
      scope: 'Namespaced',
      names: {
        plural: info.resource,
        singular: info.singular,
        kind: info.kind,
        listKind: info.listKind,
        shortNames: [...info.shortNames],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: properties as never } },
          subresources: isChart ? { status: {} } : undefined,
          additionalPrinterColumns: isChart ? COLUMNS : undefined,
        },
      ],
    },
  };
}
