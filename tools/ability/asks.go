package ability

// Requests that people make of the actions, in the words of many trades.
var (
	registerAsks = []string{
		"add a skill that says how we write press releases",
		"register instructions for handling refunds",
		"teach the assistants our dosage rules",
		"save this guideline as a reusable ability",
		"create a new playbook for customs paperwork",
		"replace the text of an ability",
		"store a set of house rules with tags and a priority",
		"keep this checklist so that agents follow it",
		"define know-how for underwriting",
		"write a new skill about safe lifting",
		"turn these best practices into an ability",
		"put our tone of voice guide where agents get it",
		"give agents a standing instruction on how to greet guests",
		"disable a skill without deleting it",
		"update the guidance on interviewing witnesses",
		"upload the style manual for subtitles as an instruction",
	}

	getAsks = []string{
		"read the skill about press releases",
		"show the text of an ability",
		"what does the refund guideline say",
		"open the playbook on customs paperwork",
		"display a single set of instructions",
		"give me the full wording of a house rule",
		"view the content of that skill",
		"how exactly does our dosage rule read",
		"fetch one ability by its id",
		"what are agents taught about safe lifting",
		"look at the know-how for underwriting",
		"retrieve that checklist of instructions",
		"print the tone of voice guide",
		"let me see that guide in full",
		"bring up a playbook to read it",
	}

	listAsks = []string{
		"list all abilities",
		"what have the assistants been taught",
		"show the playbooks with the tag legal",
		"which guidelines are switched off",
		"overview of instructions by priority",
		"all know-how on file for agents",
		"enumerate the house rules",
		"which abilities does the category safety have",
		"what standing instructions exist",
		"browse the available skills",
		"how many guidelines have we written",
		"show every skill that is enabled",
		"do we have an ability about subtitles",
		"show me our whole collection of know-how",
		"what can agents be instructed with",
	}

	injectAsks = []string{
		"which instructions apply to this assignment",
		"put together the guidelines that fit a given task",
		"get the skills relevant for writing this obituary",
		"what should an agent know before it starts on a claim",
		"compose the context for an agent's prompt from our playbooks",
		"select matching abilities for a job",
		"prepare briefing material for the agent that drafts contracts",
		"combine the texts of the skills that suit this request",
		"give the agent the know-how it needs for this order",
		"enrich a prompt with our rules",
		"which of our checklists concern what I am about to do",
		"find and join fitting house rules",
		"assemble the expertise for a translation of menus",
		"what guidance is there for this particular piece of work",
		"match our rulebooks to this customer's case",
		"which know-how fits this piece of writing",
	}

	removeAsks = []string{
		"remove the guideline about refunds",
		"take that playbook out of use",
		"unregister an ability",
		"the customs instructions are obsolete, drop them",
		"make agents unlearn the old tone of voice",
		"throw away the checklist for lifting",
		"erase a house rule",
		"discard an instruction that agents get",
		"retire the know-how for underwriting",
		"we no longer follow that practice, remove it",
		"get rid of the ability with this id",
		"withdraw the dosage rules",
		"scrap one of the skills",
		"that skill has had its day",
		"strike a guide from the collection",
	}
)
