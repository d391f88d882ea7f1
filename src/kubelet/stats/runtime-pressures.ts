/** Pressure stall information of CRI (v1.34 and later; older runtimes report none). */
import type { PsiStats as CriPsi } from '../../cri/gen/cri-types.ts';
import type { Pressure, PressureLine, Pressures } from '../../platform/pressure.ts';

/** Undefined when the runtime reports none. */
export function criPressures(reported: { readonly [R in keyof Pressures]?: CriPsi | undefined }):
  | Pressures
  | undefined {
  const pressures = Object.entries(reported).flatMap(([resource, psi]) => {
    const pressure: Pressure | undefined = psi && { some: criLine(psi.Some), full: criLine(psi.Full) };
    return pressure === undefined ? [] : [[resource, pressure] as const];
  });
  return pressures.length === 0 ? undefined : Object.fromEntries(pressures);
}

function criLine(data: CriPsi['Some']): PressureLine {
  return {
    avg10: data?.Avg10 ?? 0,
    avg60: data?.Avg60 ?? 0,
    avg300: data?.Avg300 ?? 0,
    total: Number(data?.Total ?? 0),
  };
}
