/** TracingConfiguration: the exporter of request spans. Upstream: `--tracing-config-file`, apis/apiserver/v1. */
import { shown } from '../../base/shown.ts';
import { isObject, refuseUnknownFields } from '../../api/codec/own-property.ts';
import { tracingSettings, type TracingSettings } from '../../component-helpers/tracing/tracing-configuration.ts';

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`);

/** Checks a decoded configuration. Throws an Error that names the invalid value. */
export function readTracingConfiguration(value: unknown): TracingSettings {
  if (!isObject(value)) throw new Error('the configuration is not an object');
  const { apiVersion, kind, endpoint, samplingRatePerMillion } = value;
  if (!versions.includes(shown(apiVersion)) || kind !== 'TracingConfiguration')
    throw new Error(`${shown(apiVersion)} ${shown(kind)} is not ${versions[0]} TracingConfiguration`);
  refuseUnknownFields(value, ['apiVersion', 'kind', 'endpoint', 'samplingRatePerMillion'], '');
  if (endpoint !== undefined && typeof endpoint !== 'string') throw new Error('endpoint: must be a text');
  if (samplingRatePerMillion !== undefined && typeof samplingRatePerMillion !== 'number')
    throw new Error('samplingRatePerMillion: must be a whole number');
  return tracingSettings(endpoint, samplingRatePerMillion);
}
