package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

// step is a request of a sequence: an apply or an update of the whole object.
type step struct {
	Operation string                 `json:"operation"`
	Manager   string                 `json:"manager"`
	Force     bool                   `json:"force"`
	Object    map[string]interface{} `json:"object"`
}

var converter = applyconfigurations.NewTypeConverter(scheme.Scheme)

// tracked makes the object that a sequence of requests ends with; what is refused changes nothing.
func tracked(q question) (runtime.Object, []string, error) {
	kind := schema.GroupVersionKind{Group: q.Group, Version: q.Version, Kind: q.Kind}
	manager, err := managedfields.NewDefaultFieldManager(
		converter, scheme.Scheme, scheme.Scheme, scheme.Scheme, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		return nil, nil, err
	}
	live, err := typed(q)
	if err != nil {
		return nil, nil, err
	}
	live.GetObjectKind().SetGroupVersionKind(kind)
	var outcomes []string
	for _, one := range q.Steps {
		next, err := took(manager, live, one, q)
		if err != nil {
			outcomes = append(outcomes, err.Error())
			continue
		}
		outcomes = append(outcomes, "")
		live = next
		// An object without a uid counts as one that is being created.
		if accessor, err := meta.Accessor(live); err == nil {
			accessor.SetUID("u")
		}
	}
	accessor, err := meta.Accessor(live)
	if err != nil {
		return nil, nil, err
	}
	entries := accessor.GetManagedFields()
	for index := range entries {
		entries[index].Time = nil
	}
	accessor.SetManagedFields(entries)
	return live, outcomes, nil
}

func took(manager *managedfields.FieldManager, live runtime.Object, one step, q question) (next runtime.Object, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	if one.Operation == "apply" {
		return manager.Apply(live.DeepCopyObject(), &unstructured.Unstructured{Object: one.Object}, one.Manager, one.Force)
	}
	wanted, err := typed(q)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.Object, wanted); err != nil {
		return nil, err
	}
	from, err := meta.Accessor(live)
	if err != nil {
		return nil, err
	}
	to, err := meta.Accessor(wanted)
	if err != nil {
		return nil, err
	}
	to.SetUID(from.GetUID())
	to.SetManagedFields(append([]metav1.ManagedFieldsEntry{}, from.GetManagedFields()...))
	// As the API server does: what cannot be tracked is not refused.
	return manager.UpdateNoErrors(live.DeepCopyObject(), wanted, one.Manager), nil
}

// decodeSteps reads the steps with integers as integers.
func decodeSteps(q *question) error {
	if len(q.RawSteps) == 0 {
		return nil
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(q.RawSteps, &q.Steps)
}
