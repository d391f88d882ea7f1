/** Every field of KubeletConfiguration (`kubelet.config.k8s.io/v1beta1`), and the type of the whole. */
import { withDefaults, type ValuesOf } from './field-table.ts';
import { NODE_FIELDS } from './node-fields.ts';
import { RESOURCE_FIELDS } from './resource-fields.ts';
import { SERVER_FIELDS } from './server-fields.ts';

/** The group and version of the file. */
export const KUBELET_CONFIG_API_VERSION = 'kubelet.config.k8s.io/v1beta1';

/** All fields. */
export const FIELDS = { ...SERVER_FIELDS, ...NODE_FIELDS, ...RESOURCE_FIELDS } as const;

/** The configuration with every field present. */
export type KubeletConfigurationV1Beta1 = ValuesOf<typeof FIELDS>;

export type SparseConfiguration = Readonly<Record<string, unknown>>;

/** The configuration with defaults for missing fields. */
export function completeConfiguration(configuration: SparseConfiguration): KubeletConfigurationV1Beta1 {
  return withDefaults(FIELDS, configuration);
}
