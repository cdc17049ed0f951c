

   
# nothing

