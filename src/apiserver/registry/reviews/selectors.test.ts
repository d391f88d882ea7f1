/** Selectors of reviews reach the authorizer whether they are texts or requirements. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceAttributes } from '../../../api/gen/authorization-v1.ts';
import { Field } from '../../../api/field-error.ts';
import { fieldSelectorText, labelSelectorText, validateReviewSelectors } from './selectors.ts';

test('requirements as texts; those that have no text are left out', () => {
  const one = (operator: string, values?: string[]): object => ({ key: 'spec.nodeName', operator, values });
  const fields = (...requirements: object[]): string | undefined => fieldSelectorText({ requirements } as never);
  assert.equal(fields(one('In', ['a']), one('NotIn', ['b,c'])), String.raw`spec.nodeName=a,spec.nodeName!=b\,c`);
  assert.equal(fields(one('In', ['a', 'b']), one('Exists'), one('In', [])), undefined);
  assert.equal(fieldSelectorText({ rawSelector: 'a=b' }), 'a=b');
  assert.equal(fieldSelectorText(undefined), undefined);
  const label = (operator: string, values?: string[]): object => ({ key: 'a', operator, values });
  const labels = (...requirements: object[]): string | undefined => labelSelectorText({ requirements } as never);
  const all = [label('In', ['x', 'y']), label('NotIn', ['z']), label('Exists'), label('DoesNotExist')];
  assert.equal(labels(...all), 'a in (x,y),a notin (z),a,!a');
  assert.equal(labels(label('In'), label('Exists', ['x']), label('Gt', ['1'])), undefined);
  for (const key of ['a in (x),b', 'a,b', '!a', 'a=b', ''])
    assert.equal(labels({ key, operator: 'Exists' }), undefined, key);
  assert.equal(labels(label('In', ['x),b in (y']), label('In', ['x,y'])), undefined);
  for (const key of ['a=b,spec.nodeName', 'a,b', 'a!'])
    assert.equal(fields({ key, operator: 'In', values: ['x'] }), undefined, key);
});

test('a selector is one of the two', () => {
  const errorsOf = (attributes: ResourceAttributes): string[] => {
    const root = Field.root();
    validateReviewSelectors(attributes, root.at('spec'));
    return root.errors.map(({ field, text }) => `${field}: ${text}`);
  };
  const requirements = [{ key: 'a', operator: 'Exists' }];
  assert.deepEqual(errorsOf({ fieldSelector: { rawSelector: 'a', requirements }, labelSelector: {} }), [
    'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements',
    'spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required',
  ]);
  assert.deepEqual(errorsOf({ fieldSelector: { requirements }, labelSelector: { rawSelector: 'a' } }), []);
});
