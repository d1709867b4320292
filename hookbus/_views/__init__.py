"""Views for people: plans, reports and waterfalls, as text and as HTML."""
