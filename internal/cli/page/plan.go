package page

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// planView is the data of the view of a server's plan, which is edited there.
type planView struct {
	Server   string
	Text     string // in YAML, as stored or as the user wrote it
	Digest   string // of the stored plan that the text began with
	Raw, Now doctor.Cost
	Then     doctor.Cost // with the plan of the text
	Renamed  []string    // tools that the text gives another name
	Problems []string    // faults of the text, the first mostFaults; Then is not counted
	Left     int         // faults that are not shown
	Moved    bool        // another plan was stored since the form was shown
}

// mostFaults limits the faults of a plan that are shown.
const mostFaults = 50

// errNoList reports that a server has no plan.
var errNoList = conflict{errors.New("the server has not listed its tools yet: toolfold upstream check asks it")}

// plan shows the plan by which a server's tools are folded.
func (p *Page) plan(r *http.Request) (any, error) {
	return p.planOf(r, func(v *planView, g *gateway.Gateway, o *settings.Options, stored servers.FoldPlan) (err error) {
		v.Text, err = servers.WriteFoldPlan(stored.Plan)
		v.Then = v.Now
		return err
	})
}

// planOf makes the view of a plan, with the text that fill sets.
func (p *Page) planOf(r *http.Request,
	fill func(*planView, *gateway.Gateway, *settings.Options, servers.FoldPlan) error) (*planView, error) {
	s, err := p.find(r)
	if err != nil {
		return nil, err
	}
	v := &planView{Server: s.Name, Raw: s.Raw, Now: s.Folded}
	return v, p.machine.use(func(_ *state, o *settings.Options, g *gateway.Gateway) error {
		stored, known := g.Plan(s.Name)
		if !known {
			return errNoList
		}
		v.Digest = gateway.PlanDigest(stored)
		return fill(v, g, o, servers.FoldPlan{Plan: stored})
	})
}

// editPlan is the handler of the form with a plan. It counts the cost of a plan, makes a new one, or stores it.
func (p *Page) editPlan(w http.ResponseWriter, r *http.Request) {
	saved := false
	v, err := p.planOf(r, func(v *planView, g *gateway.Gateway, o *settings.Options, stored servers.FoldPlan) (err error) {
		v.Text = strings.ReplaceAll(r.PostFormValue("plan"), "\r\n", "\n") // as browsers send line ends
		if r.PostFormValue("action") == "new" {
			made, err := g.NewPlan(v.Server)
			if err != nil {
				return err
			}
			if v.Text, err = servers.WriteFoldPlan(made); err != nil {
				return err
			}
		}
		shown := r.PostFormValue("shown")
		v.Moved = shown != v.Digest
		v.Digest = shown // until the user has loaded the other plan
		saved, err = v.take(g, o, stored, r.PostFormValue("action") == "save")
		return err
	})
	switch {
	case err != nil:
		p.fail(w, r, err)
	case saved:
		toServer(w, r)
	case v.Moved:
		p.write(w, r, http.StatusConflict, "plan", v)
	case len(v.Problems) > 0:
		p.write(w, r, http.StatusUnprocessableEntity, "plan", v)
	default:
		p.write(w, r, http.StatusOK, "plan", v)
	}
}

// take checks the text, counts its cost, and stores the plan if the user wants that and no other plan was stored.
func (v *planView) take(g *gateway.Gateway, o *settings.Options, stored servers.FoldPlan, save bool) (saved bool, err error) {
	written, err := servers.ReadFoldPlan([]byte(v.Text))
	var families []*toolfold.Family
	if err == nil {
		families, err = g.PlanWith(v.Server, written.Plan)
	}
	if err == nil && save && !v.Moved {
		err = g.UsePlan(v.Server, written.Plan, v.Digest)
		saved = err == nil
	}
	switch {
	case errors.Is(err, gateway.ErrPlanChanged):
		v.Moved = true
	case err != nil:
		v.Problems = strings.Split(written.Placed(err).Error(), "\n")
		v.Left = max(0, len(v.Problems)-mostFaults)
		v.Problems = v.Problems[:len(v.Problems)-v.Left]
		return false, nil
	}
	v.Renamed = servers.RenamedTools(stored.Plan, written.Plan)
	answer, _, _ := g.Listing(v.Server)
	if _, v.Then, err = servers.Costs(answer, o.Rights(true).Filter(families), o); err != nil {
		return saved, fmt.Errorf("counting the plan: %w", err)
	}
	return saved, nil
}
