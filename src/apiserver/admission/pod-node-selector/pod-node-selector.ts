/**
 * PodNodeSelector: pods get their namespace's node labels as node selector, and may select no labels outside the
 * namespace's allowed ones. Upstream: plugin/pkg/admission/podnodeselector.
 *
 * The annotation of the namespace takes precedence over the cluster's default; the allowed labels are in the
 * configuration.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Namespaces } from '../../../api/gen/resources.ts';
import { notFound } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { podsCreated, refusal } from '../refusal.ts';

const ANNOTATION = 'scheduler.alpha.kubernetes.io/node-selector';
const CLUSTER_DEFAULT = 'clusterDefaultNodeSelector';

type Labels = Readonly<Record<string, string>>;

/** `selectors`: the allowed labels of each namespace, and the cluster's default. */
export function createPodNodeSelector(
  objects: () => ObjectStore,
  selectors: ReadonlyMap<string, Labels> = new Map(),
): AdmissionPlugin {
  const demandOf = async (attributes: AdmissionAttributes): Promise<Labels> => {
    const { namespace } = attributes;
    const namespaceObject =
      objects().get(Namespaces, '', namespace) ?? (await objects().getFresh(Namespaces, '', namespace));
    if (namespaceObject === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace);
    const text = namespaceObject.metadata.annotations?.[ANNOTATION];
    if (text === undefined) return selectors.get(CLUSTER_DEFAULT) ?? {};
    const labels = labelsOf(text);
    if (labels === undefined) throw refusal(attributes, `invalid selector: [${text}]`);
    return labels;
  };
  const mergedSelector = async (attributes: AdmissionAttributes): Promise<Labels> => {
    const own = (attributes.object as Pod).spec?.nodeSelector ?? {};
    const demanded = await demandOf(attributes);
    if (Object.entries(demanded).some(([key, value]) => own[key] !== undefined && own[key] !== value))
      throw refusal(attributes, 'pod node label selector conflicts with its namespace node label selector');
    return { ...demanded, ...own };
  };
  return {
    name: 'PodNodeSelector',
    handles: podsCreated,
    async mutate(attributes) {
      const merged = await mergedSelector(attributes);
      const { spec } = attributes.object as Pod;
      if (spec !== undefined && Object.keys(merged).length > 0) spec.nodeSelector = { ...merged };
    },
    async validate(attributes) {
      const all = await mergedSelector(attributes);
      const allowed = selectors.get(attributes.namespace) ?? {};
      if (Object.keys(allowed).length === 0) return;
      if (Object.entries(all).some(([key, value]) => allowed[key] !== value))
        throw refusal(attributes, 'pod node label selector labels conflict with its namespace whitelist');
    },
  };
}

/** Parses `a=b,c=d` as labels; undefined for any other text. Upstream: labels.ConvertSelectorToLabelsMap. */
export function labelsOf(text: string): Labels | undefined {
  if (text.trim() === '') return {};
  const pairs = text.split(',').map((one) => one.split('=').map((part) => part.trim()));
  if (pairs.some(([key = '', ...rest]) => key === '' || rest.length !== 1)) return undefined;
  return Object.fromEntries(pairs) as Labels;
}
