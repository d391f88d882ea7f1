/** Validation of API services. Upstream: kube-aggregator/pkg/apis/apiregistration/validation. */
import { quote } from '../../base/go-quote.ts';
import type { Field } from '../field-error.ts';
import type { APIService } from '../gen/apiregistration-v1.ts';
import { isDns1035Label, isDns1123Subdomain, isPathSegmentName } from '../names.ts';
import { isPortNumber } from '../value-formats.ts';

export function validateAPIService(service: APIService, field: Field): void {
  const {
    group = '',
    version = '',
    groupPriorityMinimum = 0,
    versionPriority = 0,
    service: reference,
    caBundle,
    insecureSkipTLSVerify,
  } = service.spec ?? {};
  const wanted = `${version}.${group}`;
  const { name = '' } = service.metadata;
  if (name !== '' && isPathSegmentName(name).length === 0 && name !== wanted)
    field
      .at('metadata')
      .at('name')
      .invalid(name, `must be \`spec.version+"."+spec.group\`: ${quote(wanted)}`);
  const spec = field.at('spec');
  if (group === '') {
    if (version !== 'v1') spec.at('group').required(`only v1 may have an empty group and it better be legacy kube`);
  } else spec.at('group').complain(group, isDns1123Subdomain(group));
  spec.at('version').complain(version, isDns1035Label(version));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20000)
    spec.at('groupPriorityMinimum').invalid(groupPriorityMinimum, 'must be positive and less than 20000');
  if (versionPriority <= 0 || versionPriority > 1000)
    spec.at('versionPriority').invalid(versionPriority, 'must be positive and less than 1000');
  if (reference === undefined) {
    if ((caBundle ?? '') !== '')
      spec
        .at('caBundle')
        .invalid(`${Buffer.from(caBundle!, 'base64').length} bytes`, 'local APIServices may not have a caBundle');
    if (insecureSkipTLSVerify === true)
      spec.at('insecureSkipTLSVerify').invalid(true, 'local APIServices may not have insecureSkipTLSVerify');
    return;
  }
  if ((reference.namespace ?? '') === '') spec.at('service').at('namespace').required();
  if ((reference.name ?? '') === '') spec.at('service').at('name').required();
  const { port = 0 } = reference;
  if (isPortNumber(port).length > 0)
    spec
      .at('service')
      .at('port')
      .invalid(port, `port is not valid: ${isPortNumber(port).join(', ')}`);
  if (insecureSkipTLSVerify === true && (caBundle ?? '') !== '')
    spec.at('insecureSkipTLSVerify').invalid(true, 'may not be true if caBundle is present');
}

/** Refuses conditions whose status is unknown. Upstream: ValidateAPIServiceStatusUpdate. */
export function validateAPIServiceStatus({ status }: APIService, field: Field): void {
  const statuses = ['True', 'False', 'Unknown'];
  for (const [index, condition] of (status?.conditions ?? []).entries())
    if (!statuses.includes(condition.status))
      field.at('status').at('conditions').item(index).at('status').notSupported(condition.status, statuses);
}
