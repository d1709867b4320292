"""Background observers: started without waiting, limited, counted and waited for."""
