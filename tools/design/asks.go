package design

// Requests that people make of the actions, in the words of many trades.
var (
	apiAsks = []string{
		"write an OpenAPI document for a ferry timetable service",
		"design a REST API for a blood bank",
		"specify the endpoints of a ticketing service",
		"make a Swagger file",
		"draft an interface description for web clients",
		"describe these HTTP routes as a specification",
		"AsyncAPI document for events of a smart meter",
		"define the requests and responses of a parcel service",
		"produce a contract for our web service",
		"which endpoints would an auction house need, as a spec",
		"generate API documentation from a list of routes",
		"plan the web interface between the shop and the warehouse",
		"document message channels of the signal box",
		"create a spec of paths, methods and bodies",
		"outline an HTTP interface for hospital beds",
	}

	componentAsks = []string{
		"generate the skeleton of a class",
		"write an interface and a stub of its implementation",
		"scaffold a service in TypeScript",
		"design a component with inputs and outputs",
		"sketch a Go type for booking seats",
		"create boilerplate for a repository class",
		"make a code template for a payment handler",
		"lay out a module with its dependencies",
		"draft a singleton for the printer connection",
		"produce a Python class outline",
		"design a software building block for seat allocation",
		"starting code for a new controller",
		"define the methods of a tariff calculator",
		"write the frame of a plug-in",
		"stub out a user interface element with its properties",
	}

	schemaAsks = []string{
		"define a data model for patients",
		"write a Zod schema",
		"make a Prisma model for bookings",
		"JSON Schema of an invoice",
		"design a database table for seeds",
		"TypeScript type for a shipment record",
		"describe the fields of a member card",
		"Drizzle table for parking permits",
		"model the data of an animal shelter",
		"which columns does a rental agreement need, as a schema",
		"create a record type with validation rules",
		"specify the structure of a form's data",
		"generate types for a weather station's readings",
		"lay out the attributes of a product",
		"entity with fields, enums and references",
	}

	architectureAsks = []string{
		"draw the architecture of a system",
		"make a diagram of services and what they depend on",
		"C4 model of the dispatch centre",
		"Mermaid chart of our modules",
		"document how the parts of the shop fit together",
		"plan the structure of a streaming platform",
		"component diagram in PlantUML",
		"sketch the layers of a hospital information system",
		"overview of a microservice landscape",
		"show which building blocks talk to which",
		"lay out the big picture of the software",
		"design the overall structure of a trading platform",
		"describe the system's parts and connections",
		"blueprint of an airport's baggage software",
		"outline a modular architecture for a newsroom",
	}

	listAsks = []string{
		"list all designs",
		"which specs have been written",
		"show the stored diagrams",
		"what schemas did we design",
		"overview of earlier designs, newest first",
		"find the blueprints of type api",
		"which architectures are on file",
		"all drafts so far",
		"catalogue of saved specifications",
		"what was designed last month",
		"how many designs are there",
		"browse the generated skeletons",
		"enumerate stored models and interfaces",
		"recent design documents",
		"which sketches do we have in the drawer",
		"an index of all generated documents",
	}

	getAsks = []string{
		"read a stored design",
		"show the text of that specification",
		"open the diagram again",
		"get the generated schema by its id",
		"what did the skeleton look like",
		"display a saved blueprint",
		"retrieve the OpenAPI document made earlier",
		"give me the design with this id",
		"print the architecture once more",
		"view the code template again",
		"fetch a draft from the archive of designs",
		"reopen the data model of the shelter",
		"the rest of a long design text",
		"return the spec we wrote yesterday",
		"I need to see last month's data model once more",
		"the wording of a finished spec",
	}
)
