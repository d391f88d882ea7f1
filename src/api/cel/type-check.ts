/**
 * Type-checks a policy's expressions against each kind that its rules name; mismatches are warnings in the policy's status. Rules
 * with wildcards and kinds that are not built in are skipped. Upstream: admission/plugin/policy/validating/typechecking.go.
 */
import type { ExpressionWarning, ValidatingAdmissionPolicy } from '../gen/admissionregistration-v1.ts';
import { allResources } from '../gen/resources.ts';
import { apiVersionOf, type ResourceInfo } from '../resource-info.ts';
import { AUTHORIZER_VARIABLES, NAMESPACE_TYPE, REQUEST_TYPE } from './admission-types.ts';
import { builtInType } from './built-in-types.ts';
import { compile, compileTogether } from './compile.ts';
import { type CelEnvironment, createEnvironment } from './environment.ts';
import { CompileError } from './texts.ts';
import { DYN_TYPE } from './types/type.ts';
import type { ValueType } from './value-types.ts';
import { compileVariables } from './variables.ts';

/** Further kinds are not checked. */
const MAX_KINDS = 10;

/** The warnings of all expressions, by field. */
export function typeCheckPolicy({ spec = {} }: ValidatingAdmissionPolicy): ExpressionWarning[] {
  return compileTogether(() => warningsOf(spec));
}

function warningsOf(spec: NonNullable<ValidatingAdmissionPolicy['spec']>): ExpressionWarning[] {
  const kinds = kindsOf(spec.matchConstraints?.resourceRules ?? []);
  const params = spec.paramKind === undefined ? undefined : paramType(spec.paramKind);
  const checks = kinds.flatMap((kind) => {
    const type = builtInType(kind.group, kind.version, kind.kind);
    if (type === undefined) return [];
    const base = environmentFor(type, params);
    const environment = compileVariables(spec.variables ?? [], base).declareIn(base);
    return [{ about: `${apiVersionOf(kind)}, Kind=${kind.kind}`, environment }];
  });
  const expressions = (spec.validations ?? []).flatMap(({ expression, messageExpression }, index) => [
    { fieldRef: `spec.validations[${index}].expression`, expression },
    { fieldRef: `spec.validations[${index}].messageExpression`, expression: messageExpression ?? '' },
  ]);
  return expressions.flatMap(({ fieldRef, expression }) => {
    const problems = expression === '' ? [] : checks.flatMap((check) => problemsOf(expression, check));
    return problems.length === 0 ? [] : [{ fieldRef, warning: problems.join('\n') }];
  });
}

function problemsOf(
  expression: string,
  { about, environment }: { readonly about: string; readonly environment: CelEnvironment },
): string[] {
  try {
    compile(expression, { environment });
    return [];
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return [`${about}: ${error.message.replace(/^compilation failed: /, '')}\n`];
  }
}

function environmentFor(object: ValueType, params: ValueType | 'untyped' | undefined): CelEnvironment {
  return createEnvironment({
    object: object.type,
    oldObject: object.type,
    request: REQUEST_TYPE.type,
    namespaceObject: NAMESPACE_TYPE.type,
    ...AUTHORIZER_VARIABLES,
    ...(params === undefined ? {} : { params: typeof params === 'object' ? params.type : DYN_TYPE }),
  });
}

function paramType({ apiVersion = '', kind = '' }: { apiVersion?: string; kind?: string }): ValueType | 'untyped' {
  const slash = apiVersion.indexOf('/');
  const [group, version] = slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  return builtInType(group, version, kind) ?? 'untyped';
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
}

/** The kinds that rules name without wildcards. */
function kindsOf(rules: readonly Rule[]): ResourceInfo[] {
  const kinds: ResourceInfo[] = [];
  for (const { apiGroups = [], apiVersions = [], resources = [] } of rules)
    for (const info of allResources) {
      const named =
        apiGroups.includes(info.group) && apiVersions.includes(info.version) && resources.includes(info.resource);
      if (named && !kinds.includes(info)) kinds.push(info);
    }
  return kinds.slice(0, MAX_KINDS);
}
