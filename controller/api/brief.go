package api

import (
	"context"
	"net/url"

	"github.com/proc-controller/proc-controller/spec"
)

// briefParameter has a list leave out what a table of workloads does not show. Of
// a thousand of them that is most, and would cost both ends more than the rest.
var briefParameter = parameter{"brief", false, "of each workload only what a table shows: no manifest but replicas and suspend, no conditions but an Accepted that is not True, no deaths"}

// briefOf gives what a table shows of a workload. The one that is given stays.
func briefOf(o Object) Object {
	st := &o.Status
	out := Object{
		APIVersion: o.APIVersion, Kind: o.Kind,
		Metadata: spec.Metadata{Name: o.Metadata.Name, Labels: o.Metadata.Labels},
		Status: Status{Source: st.Source, Status: spec.Status{
			Phase: st.Phase, Reason: st.Reason, Message: st.Message, PID: st.PID, Restarts: st.Restarts, Ports: st.Ports, Hash: st.Hash,
			SuspendedAt: st.SuspendedAt,
		}},
	}
	if o.Spec != nil {
		out.Spec = &spec.Spec{Replicas: o.Spec.Replicas, Suspend: o.Spec.Suspend}
	}
	for _, c := range st.Conditions {
		if c.Type == spec.CondAccepted && c.Status != spec.True {
			out.Status.Conditions = append(out.Status.Conditions, c)
		}
	}
	for _, in := range st.Instances {
		out.Status.Instances = append(out.Status.Instances, spec.InstanceStatus{
			Instance: in.Instance, StartedAt: in.StartedAt, Ready: in.Ready, Scope: in.Scope,
		})
	}
	return out
}

// BriefWorkloads gives every workload whose labels match the selector, which may
// be empty, sorted by key, with what a table shows of it.
func (c *Client) BriefWorkloads(ctx context.Context, labels string) ([]Object, error) {
	var l List
	err := c.get(ctx, Root+"/workloads?brief=true&labelSelector="+url.QueryEscape(labels), &l)
	return l.Items, err
}
