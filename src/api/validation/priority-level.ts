/** Validation of priority levels of API priority and fairness. Upstream: apis/flowcontrol/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  ExemptPriorityLevelConfiguration,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from '../gen/flowcontrol-v1.ts';
import { internalForm } from './internal-form.ts';
import { validateFlowStatus } from './flow-schema.ts';

const MAX_QUEUES = 10_000_000;
/** The bits of a flow's hash by which its queues are chosen. */
const HASH_BITS = 60;

function validateHand(queues: number, handSize: number, field: Field): void {
  if (handSize <= 0) return field.invalid(handSize, 'must be positive');
  if (handSize > queues) return field.invalid(handSize, `should not be greater than queues (${queues})`);
  if (Math.ceil(Math.log2(queues) * handSize) > HASH_BITS)
    field.invalid(
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${HASH_BITS}`,
    );
}

function validateQueuing(queuing: QueuingConfiguration, field: Field): void {
  const { queueLengthLimit = 0, queues = 0, handSize = 0 } = queuing;
  if (queueLengthLimit <= 0) field.at('queueLengthLimit').invalid(queueLengthLimit, 'must be positive');
  if (queues <= 0) field.at('queues').invalid(queues, 'must be positive');
  else if (queues > MAX_QUEUES) field.at('queues').invalid(queues, `must not be greater than ${MAX_QUEUES}`);
  validateHand(queues, handSize, field.at('handSize'));
}

function validateResponse({ type = '', queuing }: Partial<LimitResponse>, field: Field): void {
  switch (type) {
    case 'Reject':
      if (queuing !== undefined)
        field.at('queuing').forbidden('must be nil if limited.limitResponse.type is not Limited');
      return;
    case 'Queue':
      if (queuing === undefined)
        field.at('queuing').required('must not be empty if limited.limitResponse.type is Limited');
      else validateQueuing(queuing, field.at('queuing'));
      return;
    default:
      field.at('type').notSupported(type, ['Queue', 'Reject']);
  }
}

type Shares = Pick<ExemptPriorityLevelConfiguration, 'nominalConcurrencyShares'>;

function validateShares({ nominalConcurrencyShares: shares = 0 }: Shares, field: Field): void {
  if (shares < 0) field.at('nominalConcurrencyShares').invalid(shares, 'must be a non-negative integer');
}

function validateLendable({ lendablePercent: percent = 0 }: ExemptPriorityLevelConfiguration, field: Field): void {
  if (percent < 0 || percent > 100)
    field.at('lendablePercent').invalid(percent, 'must be between 0 and 100, inclusive');
}

function validateLimited(limited: LimitedPriorityLevelConfiguration, field: Field): void {
  validateShares(limited, field);
  validateResponse(limited.limitResponse ?? {}, field.at('limitResponse'));
  validateLendable(limited, field);
  const { borrowingLimitPercent: percent = 0 } = limited;
  if (percent < 0) field.at('borrowingLimitPercent').invalid(percent, 'if specified, must be a non-negative integer');
}

function validateSpec(spec: Partial<PriorityLevelConfigurationSpec>, name: string | undefined, field: Field): void {
  const { type = '', limited, exempt } = spec;
  if ((name === 'exempt') !== (type === 'Exempt'))
    field.at('type').invalid(type, "must be 'Exempt' if and only if `name` is 'exempt'");
  switch (type) {
    case 'Exempt':
      if (limited !== undefined) field.at('limited').forbidden('must be nil if the type is not Limited');
      if (exempt === undefined) return;
      validateShares(exempt, field.at('exempt'));
      return validateLendable(exempt, field.at('exempt'));
    case 'Limited':
      if (exempt !== undefined) field.at('exempt').forbidden('must be nil if the type is Limited');
      if (limited === undefined) field.at('limited').required('must not be empty when type is Limited');
      else validateLimited(limited, field.at('limited'));
      return;
    default:
      field.at('type').notSupported(type, ['Exempt', 'Limited']);
  }
}

/** `fixed`: the mandatory spec of a level with this name; the shares of the exempt level may be set. */
export function validatePriorityLevel(
  level: PriorityLevelConfiguration,
  field: Field,
  fixed?: PriorityLevelConfigurationSpec,
): void {
  const { name } = level.metadata;
  const spec = level.spec ?? ({} as Partial<PriorityLevelConfigurationSpec>);
  validateSpec(spec, name, field.at('spec'));
  if (fixed !== undefined) {
    const { exempt } = fixed;
    const same = deepEqual(exempt === undefined ? spec : { ...spec, exempt }, fixed);
    const but = exempt === undefined ? '' : " except the 'spec.exempt' field";
    if (!same)
      field
        .at('spec')
        .invalid(
          internalForm(spec, 'flowcontrol.v1.PriorityLevelConfigurationSpec'),
          `spec of '${name}'${but} must equal the fixed value`,
        );
  }
  validateFlowStatus(level, field);
}
