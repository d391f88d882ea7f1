// The descriptions of responses in both OpenAPI versions.

import type { OperationFact } from './operation-facts.ts';

export const STATUS_TEXTS: Readonly<Record<OperationFact['codes'][number], string>> = {
  '200': 'OK',
  '201': 'Created',
  '202': 'Accepted',
};
