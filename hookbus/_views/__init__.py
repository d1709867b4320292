"""What people look at: plans, reports and waterfalls, as text and as pages."""
